package probes

import (
	"bytes"
	"slices"
	"strconv"
	"strings"

	"github.com/weft-trace/weft/internal/problem"
)

// message reads a message that a tracer prints among the records: a loss, an error or noise. The result known is false
// for any other line.
func (r *reader) message(text []byte) (known bool, err error) {
	switch text[0] {
	case 'A', 'C', 'L', 'T', 'W', 'd': // first letters of all messages
	default:
		return false, nil
	}
	if len(text) > maxMessage {
		return false, nil
	}
	words := strings.Fields(string(text))
	if len(words) < 3 {
		return false, nil
	}
	if n, ok := lossIn(words); ok {
		return true, r.lost(n, string(text))
	}
	if words[0] == "dtrace:" && words[1] == "error" {
		r.problem(problem.TracerError, string(text))
		return true, nil
	}
	return isNoise(words) || bytes.Equal(bytes.TrimSpace(text), []byte("Tracing... Hit Ctrl-C to end.")), nil
}

// maxMessage limits the length of lines that may be messages of a tracer.
const maxMessage = 4096

// lossIn reads bpftrace's "Lost 12 events", and "dtrace: 3 drops on CPU 1" or "dtrace: 3 dynamic variable drops".
func lossIn(words []string) (n uint64, ok bool) {
	switch {
	case words[0] == "Lost" && len(words) == 3 && isOneOf(words[2], "event", "events"):
	case words[0] == "dtrace:":
		if !slices.ContainsFunc(words[2:], func(word string) bool { return isOneOf(word, "drop", "drops") }) {
			return 0, false
		}
	default:
		return 0, false
	}
	n, err := strconv.ParseUint(words[1], 10, 64)
	return n, err == nil
}

// isNoise reports whether words form a message that can be ignored.
func isNoise(words []string) bool {
	last := words[len(words)-1]
	switch words[0] {
	case "Attaching":
		return len(words) == 3 && isNumber(words[1]) && isOneOf(last, "probe...", "probes...")
	case "Attached":
		return len(words) == 3 && isNumber(words[1]) && isOneOf(last, "probe", "probes")
	case "CPU":
		return len(words) == 3 && words[1] == "ID" && last == "FUNCTION:NAME"
	case "WARNING:":
		return strings.HasPrefix(strings.Join(words, " "), "WARNING: Total lost event count: ") && isNumber(last)
	case "dtrace:":
		n := len(words)
		switch words[1] {
		case "script", "description":
			return n >= 6 && words[n-3] == "matched" && isNumber(words[n-2]) && isOneOf(last, "probe", "probes")
		case "pid":
			return n == 5 && isNumber(words[2]) && words[3] == "has" && last == "exited"
		}
	}
	return false
}

func isOneOf(word, a, b string) bool { return word == a || word == b }

func isNumber(word string) bool {
	_, err := strconv.ParseUint(word, 10, 64)
	return err == nil
}
