package migrate

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/weft-trace/weft/convert"
)

// A Config describes a migration. Only Out and, for most runs, Inputs or Lists are required.
type Config struct {
	Out    string   // the output folder; created if missing
	Root   string   // the folder below which outputs mirror inputs; "": the one folder in Inputs, otherwise the working directory
	Inputs []string // folders, files, and patterns with **; files found by folders and patterns are skipped if they are not traces
	Lists  []string // files that list names, one per line; "-" is Stdin
	NUL    bool     // names in lists end with a NUL
	Stdin  io.Reader

	Filters []Filter

	// Convert are the options for each conversion. Memory is the budget per file. Workers is not used.
	Convert convert.Options
	// Settings are the options that affect the output bytes, by name, as they are recorded: outputs made with other settings
	// are made again.
	Settings map[string]string
	// Perfetto is the treatment of Perfetto traces: "skip" (the same as ""), "copy" or "convert".
	Perfetto string

	Jobs        int           // number of files at once; 0: one per core
	FileTimeout time.Duration // per file; 0: none
	Verify      bool          // verify outputs before they get their names
	Force       bool          // replace files that have no record
	Redo        string        // what to convert again: "version", "all"; "": nothing
	RetryFailed bool          // convert only inputs that failed; Inputs and Lists are not needed

	Shard  Shard
	DryRun bool // decide and count; write nothing

	// OnDecision is called for each input of a dry run, in order.
	OnDecision func(Decision)
	// OnProgress is called a few times a second.
	OnProgress func(Progress)
}

// A Decision states what a run does with an input, and why.
type Decision struct {
	Input  string `json:"input"`
	Member string `json:"member,omitempty"`
	Size   int64  `json:"size"`
	// Action is convert, skip, fail or hash. A hashed input is converted if its content has changed.
	Action string `json:"action"`
	Reason string `json:"reason"`
}

// A Shard is part number Index of Count parts of the inputs, chosen by their paths. The zero Shard is everything.
type Shard struct{ Index, Count int }

// maxShards bounds the number of shards; a larger number is probably a mistake.
const maxShards = 1 << 20

// ParseShard parses "I/N", where I counts from 0.
func ParseShard(text string) (Shard, error) {
	index, count, _ := strings.Cut(text, "/")
	i, err1 := strconv.Atoi(index)
	n, err2 := strconv.Atoi(count)
	if err1 != nil || err2 != nil || n > maxShards {
		return Shard{}, fmt.Errorf("invalid shard %q; write I/N, for example 0/16", text)
	}
	if i < 0 || i >= n {
		return Shard{}, fmt.Errorf("there is no shard %d of %d; they are numbered from 0", i, n)
	}
	return Shard{i, n}, nil
}

// Has reports whether an input belongs to the shard. input is the path below the root, as in records.
func (s Shard) Has(input string) bool {
	return s.Count <= 1 || shardHash(input)%uint64(s.Count) == uint64(s.Index)
}

// String returns "3-of-16", or "all" for everything, for use in file names.
func (s Shard) String() string {
	if s.Count <= 1 {
		return "all"
	}
	return fmt.Sprintf("%d-of-%d", s.Index, s.Count)
}

// check rejects invalid configurations.
func (c *Config) check() error {
	switch {
	case c.Out == "":
		return mistakef("--out is missing: the folder for the traces")
	case !c.RetryFailed && len(c.Inputs) == 0 && len(c.Lists) == 0:
		return mistakef("no input; name a folder, files, or a list with --files-from")
	case c.RetryFailed && len(c.Inputs)+len(c.Lists) > 0:
		return mistakef("--retry-failed takes no inputs: it knows what failed")
	}
	return c.checkConversion()
}

// checkConversion rejects invalid conversion options.
func (c *Config) checkConversion() error {
	switch {
	case !slices.Contains([]string{"", "skip", "copy", "convert"}, c.Perfetto):
		return mistakef("--perfetto: %q is not skip, copy or convert", c.Perfetto)
	case c.Convert.KeepPackets:
		return mistakef("weft migrate converts traces, and does not keep their packets")
	}
	if !slices.Contains([]string{"", "version", "all"}, c.Redo) {
		return mistakef("--redo: %q is not version or all", c.Redo)
	}
	if err := c.Convert.Validate(); err != nil {
		return mistakef("%v", err)
	}
	return nil
}
