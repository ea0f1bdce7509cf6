package migrate

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"path"

	"github.com/weft-trace/weft/convert"
	"github.com/weft-trace/weft/internal/jsonscan"
	"github.com/weft-trace/weft/internal/problem"
)

// A State is the outcome of an input.
type State string

const (
	// Done is the state of an input whose output exists, and of an archive whose members have records of their own.
	Done State = "done"
	// Failed is the state of an input that could not be converted. Kind and Reason state why.
	Failed State = "failed"
	// Skipped is the state of an input that the rules exclude: a file that is not a trace, a Perfetto trace, a link to a
	// folder.
	Skipped State = "skipped"

	// forgotten ends the record of an input that no longer exists. It occurs only in journals.
	forgotten State = "forgotten"
)

// A Kind is a stable word for why an input failed or was skipped.
type Kind string

// The kinds of failures.
const (
	KindUnreadable   Kind = "unreadable"   // a trace that cannot be read; Reason contains the position
	KindUnrecognised Kind = "unrecognised" // a named input that is not a trace
	KindPanic        Kind = "panic"        // a defect in weft; the journal contains the stack
	KindTimeout      Kind = "timeout"      // took longer than Config.FileTimeout
	KindMemory       Kind = "memory"       // does not fit into the memory budget of a file
	KindIO           Kind = "io"           // reading failed
	KindChanged      Kind = "changed"      // changed while it was read
	KindMissing      Kind = "missing"      // a name in a list, or the target of a link, that does not exist
	KindOutput       Kind = "output"       // the output cannot be written: permission denied, for example
	KindCollision    Kind = "collision"    // another input has the same output
	KindExists       Kind = "exists"       // a file without a record is at the output's path
	KindName         Kind = "name"         // a name that cannot be an output: too long, or leading out of the folder
	KindInvalid      Kind = "invalid"      // verification refused the output
)

// The kinds of skipped inputs.
const (
	KindNoTrace  Kind = "no-trace" // the content is not a trace
	KindPerfetto Kind = "perfetto" // a Perfetto trace already
	KindLink     Kind = "link"     // a link to a folder
	KindSpecial  Kind = "special"  // a device, a pipe, a socket
)

// A Record states the outcome of one input. It is a line of a journal or of the manifest.
type Record struct {
	// Input is the path below the root, with slashes. Bytes that are not UTF-8 are written as \xNN.
	Input string `json:"input"`
	// Member is the path inside an archive; "" for a file, and for the archive as a whole.
	Member string `json:"member,omitempty"`

	Size    int64  `json:"size"`             // of the input as stored, in bytes
	MtimeNS int64  `json:"mtime_ns"`         // its modification time, in nanoseconds since 1970
	SHA256  string `json:"sha256,omitempty"` // of the input as stored; "" if it was not read to its end

	State     State  `json:"state"`
	Output    string `json:"output,omitempty"` // below the output folder, escaped like Input
	OutSize   int64  `json:"out_size,omitempty"`
	OutSHA256 string `json:"out_sha256,omitempty"`
	OptionsID string `json:"options_id"` // of the options that the output was made with
	Weft      string `json:"weft"`       // the version of weft that wrote the record

	Format     convert.Format       `json:"format,omitempty"` // tar or zip for an archive
	Containers []string             `json:"containers,omitempty"`
	Members    int64                `json:"members,omitempty"` // number of an archive's members with records
	Events     *convert.EventCounts `json:"events,omitempty"`
	Lost       uint64               `json:"lost,omitempty"`     // number of problems that left something out of the output
	Problems   map[string]uint64    `json:"problems,omitempty"` // counts by name

	Kind     Kind   `json:"kind,omitempty"`
	Reason   string `json:"reason,omitempty"` // one sentence
	Attempts int    `json:"attempts,omitempty"`

	journalPart
}

// lostUnusual returns how many of the Lost problems are unusual for the format.
func (r *Record) lostUnusual() (n uint64) {
	for name, count := range r.Problems {
		if k, known := problem.KindOf(name); known && k.Severity() == problem.Lost && problem.Usual(name, string(r.Format)) == "" {
			n = problem.Sum(n, count)
		}
	}
	return min(n, r.Lost) // problems that normally lose data may not be counted in Lost, if the data was copied
}

// journalPart holds the fields that only journals have, so that the manifest of the same archive is always the same.
type journalPart struct {
	At      string  `json:"at,omitempty"` // RFC 3339 in UTC with nine decimals, so that texts sort like times
	Seconds float64 `json:"seconds,omitempty"`
	Host    string  `json:"host,omitempty"`
	Shard   string  `json:"shard,omitempty"`
	Stack   string  `json:"stack,omitempty"` // of a panic
}

// formatVersion is the version of journals and manifests that this package writes. It reads this and older versions.
const formatVersion = 1

// A header is the first line of a manifest, and the first line of each run in a journal.
type header struct {
	Version   int               `json:"weft_migrate"`
	Options   map[string]string `json:"options"`    // options that affect the output bytes and differ from the defaults
	OptionsID string            `json:"options_id"` // first 16 hex digits of the SHA-256 of the options as JSON

	Root string `json:"root,omitempty"` // only in journals, like the fields below
	At   string `json:"at,omitempty"`
	Host string `json:"host,omitempty"`
	Weft string `json:"weft,omitempty"`
}

// headerStart is the start of every header, and of no record.
var headerStart = []byte(`{"weft_migrate":`)

// optionsID returns the identifier of options. encoding/json sorts the keys of a map.
func optionsID(settings map[string]string) string {
	if settings == nil {
		settings = map[string]string{}
	}
	text, err := json.Marshal(settings)
	if err != nil {
		panic(err) // strings always have a JSON form
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:8])
}

// errLine is the error for a line that is neither a record nor a header.
var errLine = errors.New("not a record")

// parseLine parses a line, which is a header or a record.
func parseLine(line []byte) (*header, *Record, error) {
	if bytes.HasPrefix(line, headerStart) {
		h := new(header)
		if err := json.Unmarshal(line, h); err != nil {
			return nil, nil, errLine
		}
		if h.Version > formatVersion {
			return nil, nil, fmt.Errorf("it is of format %d, of a newer version of weft; this one knows format %d", h.Version, formatVersion)
		}
		return h, nil, nil
	}
	r := new(Record)
	if err := json.Unmarshal(line, r); err != nil || r.Input == "" || r.State == "" {
		return nil, nil, errLine
	}
	return nil, r, nil
}

// appendLine appends a value as a line of JSON.
func appendLine(b []byte, v any) ([]byte, error) {
	var line bytes.Buffer
	encoder := json.NewEncoder(&line)
	encoder.SetEscapeHTML(false)
	err := encoder.Encode(v)
	return append(b, jsonscan.Escape(line.Bytes())...), err
}

// comparePaths orders paths by their components: the contents of a folder come right after it.
func comparePaths(a, b string) int {
	for i := range min(len(a), len(b)) {
		switch x, y := a[i], b[i]; {
		case x == y:
		case x == '/':
			return -1
		case y == '/':
			return 1
		default:
			return cmp.Compare(x, y)
		}
	}
	return cmp.Compare(len(a), len(b))
}

// path returns the input followed by the member. It is not cleaned, so that names with ".." stay visible.
func (r *Record) path() string {
	if r.Member == "" {
		return r.Input
	}
	return r.Input + "/" + r.Member
}

// inputKey is the hash of an input, for sets and names of temporary files.
type inputKey [8]byte

func keyOf(input, member string) (k inputKey) {
	sum := sha256.Sum256([]byte(input + "\x00" + member))
	copy(k[:], sum[:])
	return k
}

// outputSuffix is the ending of outputs.
const outputSuffix = ".pftrace"

// outputName returns the path of an output below the output folder.
func outputName(input, member string) string { return path.Join(input, member) + outputSuffix }
