package main

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"time"
)

// part is a kind of work in a conversion. The innermost function of a stack that belongs to a part decides, so that
// copying and hashing count for who copies and hashes. Of the patterns that match it, the first decides.
type part struct {
	name    string
	pattern *regexp.Regexp // of functions, with the path of their package after the module's
}

var parts = []part{
	{"collecting garbage", regexp.MustCompile(`^runtime\.(gc|bgsweep|bgscavenge|scan|mark|greyobject|sweep|\(\*gc|\(\*mspan\)\.sweep|\(\*sweep)`)},
	{"compressing", regexp.MustCompile(`klauspost/compress/.*(flate|zlib|zstd)\.`)},
	{"reading and writing files", regexp.MustCompile(`^(os\.\(\*File\)\.|internal/poll\.|syscall\.)`)},
	{"sorting", regexp.MustCompile(`^(internal/timeline\.(\(\*(memory|sampleTable)\)\.sort|\(\*timeOrder\)\.append|\(\*timeOrder\)\.(merge|sort)To|\(\*runs\)|\(\*disk\)|\(\*recordWriter\))|internal/(extsort|radix)\.)`)},
	{"interning", regexp.MustCompile(`^internal/timeline\.(\(\*stringTable\)|\(\*trackTable\)|hashText|hash31|\(\*Builder\)\.(Process|Thread|Child|Counter|Async))`)},
	{"encoding arguments", regexp.MustCompile(`^internal/timeline\.\(\*ArgsEncoder\)`)},
	{"collecting records", regexp.MustCompile(`^internal/(timeline\.(\(\*Builder\)|\(\*memory\)\.(add|arena|next)|\(\*sampleTable\)\.add|\(\*timeOrder\)\.(add|descent))|blocks\.)`)},
	{"walking and nesting", regexp.MustCompile(`^internal/timeline\.`)},
	{"flows", regexp.MustCompile(`^internal/flow(bind|index)\.`)},
	{"encoding packets", regexp.MustCompile(`^(internal/pfwire(/message)?|internal/wire)\.`)},
	{"scanning", regexp.MustCompile(`^internal/jsonscan\.`)},
	{"reading events", regexp.MustCompile(`^internal/readers/chromejson\.`)},
	{"detecting and unpacking", regexp.MustCompile(`^convert\.`)},
}

const otherParts = "everything else"

// share is the part of the CPU time that one kind of work takes.
type share struct {
	input    string
	part     string
	fraction float64 // of all CPU time
}

// measureProfile profiles the conversion of both main inputs on one core, with zlib.
func (b *bench) measureProfile() ([]share, error) {
	b.logf("profile")
	inputs, err := b.mainInputs()
	if err != nil {
		return nil, err
	}
	var all []share
	for _, in := range inputs {
		profile := b.path("cpu.prof")
		if _, err := b.run(b.child(1, "profile", in.plain, profile)); err != nil {
			return nil, err
		}
		cmd := exec.CommandContext(b.ctx, "go", "tool", "pprof", "-traces", b.self, profile)
		out, err := cmd.Output()
		if err != nil {
			return nil, fmt.Errorf("go tool pprof: %w", err)
		}
		times, err := partTimes(strings.NewReader(string(out)))
		if err != nil {
			return nil, err
		}
		all = append(all, shares(in.name, times)...)
	}
	return all, nil
}

// partTimes adds up the samples of a profile by parts. A profile in the form of pprof -traces is a list of stacks
// between lines of dashes; the first line of a stack begins with the time of its samples, and every line ends with a
// function, the innermost first.
func partTimes(r io.Reader) (map[string]time.Duration, error) {
	times := map[string]time.Duration{}
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, 1<<20)
	var sample time.Duration
	found := ""
	next := func(d time.Duration) {
		if sample > 0 {
			times[cmp.Or(found, otherParts)] += sample
		}
		sample, found = d, ""
	}
	inStacks := false
	for lines.Scan() {
		line := lines.Text()
		if strings.HasPrefix(line, "-----") {
			next(0)
			inStacks = true
			continue
		}
		fields := strings.Fields(line)
		if !inStacks || len(fields) == 0 {
			continue
		}
		if d, err := time.ParseDuration(fields[0]); err == nil && len(fields) > 1 {
			next(d)
			fields = fields[1:]
		}
		if found == "" {
			found = partOf(fields[0])
		}
	}
	next(0)
	return times, lines.Err()
}

// partOf returns the part that a function belongs to, "" if it does not tell.
func partOf(function string) string {
	function = strings.TrimPrefix(function, "github.com/weft-trace/weft/")
	for _, p := range parts {
		if p.pattern.MatchString(function) {
			return p.name
		}
	}
	return ""
}

// shares returns the shares of an input in the order of the parts.
func shares(input string, times map[string]time.Duration) []share {
	var total time.Duration
	for _, d := range times {
		total += d
	}
	var all []share
	for name, d := range times {
		all = append(all, share{input, name, float64(d) / float64(max(total, 1))})
	}
	slices.SortFunc(all, func(a, b share) int {
		return cmp.Or(cmp.Compare(b.fraction, a.fraction), cmp.Compare(a.part, b.part))
	})
	return all
}

// shareTable returns the shares as a table in Markdown, one column for each input; "" without shares.
func shareTable(all []share) string {
	if len(all) == 0 {
		return ""
	}
	var inputs, names []string
	values := map[[2]string]float64{}
	for _, s := range all {
		if !slices.Contains(inputs, s.input) {
			inputs = append(inputs, s.input)
		}
		if !slices.Contains(names, s.part) {
			names = append(names, s.part)
		}
		values[[2]string{s.input, s.part}] = s.fraction
	}
	var rows [][]string
	for _, name := range names {
		cells := []string{name}
		for _, in := range inputs {
			cells = append(cells, fmt.Sprintf("%.1f %%", 100*values[[2]string{in, name}]))
		}
		rows = append(rows, cells)
	}
	return markdown(append([]string{"work"}, inputs...), rows)
}
