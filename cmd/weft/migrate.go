package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/weft-trace/weft/internal/commandline"
	"github.com/weft-trace/weft/internal/migrate"
)

func migrateCommand(env *environment) *cli.Command {
	filters := new([]migrate.Filter)
	return &cli.Command{
		Name:      "migrate",
		Usage:     "convert whole archives of traces, and go on where an earlier run stopped",
		UsageText: "weft migrate [flags] --out OUT INPUT…",
		Description: `Converts every trace below a folder to OUT, with the same folders. Inputs are folders,
files, patterns in quotes ("logs/**/*.json.gz"), and names of a list. Members of tar
and zip archives are converted as if they were files. Files that are not traces are
skipped.

Run the same command again to go on after an interruption, a crash or a full disk:
what is done is not done again. OUT/.weft-migrate/manifest.jsonl has a line for each
file. One file's failure does not stop the others.

Examples:
   weft migrate --out converted traces
   weft migrate --out converted --dry-run traces
   weft migrate --out converted --retry-failed
   find . -name '*.json.gz' -print0 | weft migrate --out converted -0 --files-from -
   weft migrate --out converted --shard 0/16 traces     (one of 16 machines)
   weft migrate --out converted --finish                (after the last one)

The exit code is 0 if all is done, 1 if files failed, 3 with --strict if data was lost that recordings usually have,
5 if the run had to stop, 130 if it was interrupted. docs/batch.md has the rules.`,
		Flags: slices.Concat(migrateFlags(filters), migrateConversionFlags(env)),
		Action: func(c *cli.Context) error {
			m := &migration{env: env, context: c, filters: *filters}
			err := m.run(c.Context)
			if mistake := (*migrate.Mistake)(nil); errors.As(err, &mistake) {
				return usagef("%v", mistake)
			}
			return err
		},
	}
}

// migrateFlags returns the flags that only this command has.
func migrateFlags(filters *[]migrate.Filter) []cli.Flag {
	return []cli.Flag{
		&cli.StringFlag{Name: "out", Usage: "write the traces and the manifest to the folder `DIR`"},
		&cli.StringFlag{Name: "root", Usage: "outputs mirror what is below `DIR`", DefaultText: "the one folder given, otherwise the working directory"},
		&cli.StringSliceFlag{Name: "files-from", Usage: "read names from `FILE`, one a line; - is standard input"},
		&cli.BoolFlag{Name: "null", Aliases: []string{"0"}, Usage: "names of --files-from end with a NUL byte", DisableDefaultText: true},
		&cli.GenericFlag{Name: "include", Value: &filterFlag{filters, false}, Usage: "take only files that match `GLOB`; the last --include or --exclude that matches decides"},
		&cli.GenericFlag{Name: "exclude", Value: &filterFlag{filters, true}, Usage: "leave out files that match `GLOB`"},
		&cli.StringFlag{Name: "perfetto", Value: "skip", Usage: "`WHAT` to do with Perfetto traces: skip, copy or convert"},
		&cli.IntFlag{Name: "jobs", Usage: "convert `N` files at once", DefaultText: "one per core"},
		&cli.StringFlag{Name: "file-memory", Value: "128MiB", Usage: "use up to `SIZE` of memory for each of these"},
		&cli.DurationFlag{Name: "file-timeout", Usage: "fail a file that takes longer than `TIME`", DefaultText: "never"},
		&cli.BoolFlag{Name: "dry-run", Usage: "say what would be done, and write nothing", DisableDefaultText: true},
		&cli.StringFlag{Name: "redo", Usage: "convert again `WHICH`: version (what another version of weft made) or all"},
		&cli.BoolFlag{Name: "verify", Usage: "verify outputs before they get their names", DisableDefaultText: true},
		&cli.BoolFlag{Name: "retry-failed", Usage: "try again what failed, and nothing else", DisableDefaultText: true},
		&cli.StringFlag{Name: "shard", Usage: "do part `I/N`, with I from 0"},
		&cli.BoolFlag{Name: "finish", Usage: "make the manifest of all shards and sum up", DisableDefaultText: true},
		&cli.BoolFlag{Name: "status", Usage: "sum up what is done so far", DisableDefaultText: true},
	}
}

// migrateConversionFlags returns the flags that weft migrate shares with weft convert.
func migrateConversionFlags(env *environment) []cli.Flag {
	return pick(convertCommand(env).Flags, "force", "format", "args", "compress", "packets", "samples", "screenshots", "long-tasks", "strict",
		"quiet", "json", "attribute", "js-calls")
}

// filterFlag collects --include and --exclude in the order given.
type filterFlag struct {
	list    *[]migrate.Filter
	exclude bool
}

// Set implements cli.Generic.
func (f *filterFlag) Set(pattern string) error {
	*f.list = append(*f.list, migrate.Filter{Glob: pattern, Exclude: f.exclude})
	return nil
}

// String implements cli.Generic.
func (f *filterFlag) String() string { return "" }

// A migration is one call of the migrate command.
type migration struct {
	env     *environment
	context *cli.Context
	filters []migrate.Filter
	json    bool
	shown   migrationProgress
}

func (m *migration) run(ctx context.Context) error {
	c := m.context
	m.json = c.Bool("json")
	out := c.String("out")
	if out == "" {
		return usagef("--out is missing: the folder for the traces")
	}
	if err := commandline.Exclusive(c, "status", "finish", "retry-failed"); err != nil {
		return err
	}
	if c.Bool("status") || c.Bool("finish") {
		if c.NArg() > 0 {
			return usagef("--status and --finish take no inputs")
		}
		sum := migrate.Status
		if c.Bool("finish") {
			sum = migrate.Finish
		}
		s, err := sum(out)
		if err != nil {
			return m.stopped(nil, err)
		}
		if err := m.print(s, m.env.stdout); err != nil {
			return err
		}
		return m.outcome(s)
	}
	config, err := m.config()
	if err != nil {
		return m.stopped(nil, err)
	}
	return m.migrate(ctx, config)
}

// migrate runs the migration and prints the result.
func (m *migration) migrate(ctx context.Context, config *migrate.Config) error {
	m.shown.begin(m)
	config.OnProgress = m.shown.update
	if config.DryRun && m.json {
		config.OnDecision = func(d migrate.Decision) { _ = writeJSON(m.env.stdout, &d) } // a write error recurs at the end
	}
	jobs := int64(cmp.Or(config.Jobs, runtime.GOMAXPROCS(0)))
	limitHeap(jobs * config.Convert.Memory)
	if os.Getenv("GOGC") == "" {
		defer debug.SetGCPercent(debug.SetGCPercent(migrate.GCPercent)) // the heap limit still applies
	}
	s, err := migrate.Run(ctx, *config)
	m.shown.end()
	if err != nil {
		return m.stopped(s, err)
	}
	if s.DryRun {
		if m.json {
			return nil
		}
		return m.printDryRun(s)
	}
	if err := m.print(s, m.env.stderr); err != nil {
		return err
	}
	return m.outcome(s)
}

// outcome returns the error that the command ends with, according to a summary.
func (m *migration) outcome(s *migrate.Summary) error {
	switch {
	case s.Total(migrate.Failed).Files > 0:
		return errReported
	}
	return readStrict(m.context).judge(m.env, losses{uint64(s.Lost), uint64(s.LostUnusual)}, "; see the manifest")
}

// config reads the flags.
func (m *migration) config() (*migrate.Config, error) {
	c := m.context
	if c.Bool("retry-failed") {
		if err := m.takeSettings(); err != nil {
			return nil, err
		}
	}
	opts, err := conversionOptions(c)
	if err != nil {
		return nil, err
	}
	opts.SelfProfile.Required = false // only some of the files may be self-profiles
	if opts.Compression == "" {
		opts.Compression, _ = defaultForm("")
	}
	if opts.Packets == "" {
		_, opts.Packets = defaultForm("")
	}
	config := &migrate.Config{
		Out: c.String("out"), Root: c.String("root"), Inputs: c.Args().Slice(), Lists: c.StringSlice("files-from"),
		NUL: c.Bool("null"), Stdin: m.env.stdin, Filters: m.filters, Convert: opts, Settings: m.settings(),
		Perfetto: c.String("perfetto"), Jobs: c.Int("jobs"), FileTimeout: c.Duration("file-timeout"), Verify: c.Bool("verify"),
		Force: c.Bool("force"), Redo: c.String("redo"), RetryFailed: c.Bool("retry-failed"), DryRun: c.Bool("dry-run"),
	}
	if what := config.Perfetto; !slices.Contains([]string{"skip", "copy", "convert"}, what) {
		return nil, unknownValue("perfetto", "choice", what, "skip", "copy", "convert")
	}
	if what := config.Redo; !slices.Contains([]string{"", "version", "all"}, what) {
		return nil, unknownValue("redo", "choice", what, "version", "all")
	}
	if config.Jobs < 0 {
		return nil, usagef("--jobs: %d is negative", config.Jobs)
	}
	if text := c.String("shard"); text != "" {
		if config.Shard, err = migrate.ParseShard(text); err != nil {
			return nil, usagef("--shard: %v", err)
		}
	}
	return config, nil
}

// byteFlags are the flags that change the contents or the path of an output.
var byteFlags = []string{
	"format", "args", "compress", "packets", "samples", "screenshots", "long-tasks", "attribute", "js-calls", "perfetto",
}

// settings returns the byteFlags that differ from their defaults.
func (m *migration) settings() map[string]string {
	defaults := map[string]string{"compress": "zstd", "packets": "compact"}
	set := map[string]string{}
	for _, name := range byteFlags {
		flag := commandline.FindFlag(m.context.Command.Flags, name)
		value := fmt.Sprint(m.context.Value(name))
		fallback := defaults[name]
		switch f := flag.(type) {
		case *cli.StringFlag:
			if fallback == "" {
				fallback = defaultOf(f)
			}
		case *cli.BoolFlag:
			fallback = "false"
		}
		if m.context.IsSet(name) && value != fallback {
			set[name] = value
		}
	}
	if m.context.Bool("attribute") {
		set["file-memory"] = m.context.String("file-memory") // it determines which data does not fit and is left out
	}
	return set
}

// defaultOf returns the default value of a flag from its help text, because the cli package overwrites the value in the flag
// itself.
func defaultOf(f *cli.StringFlag) string { return strings.Trim(f.GetDefaultText(), `"`) }

// takeSettings gives the flags that are missing from this call their values in the latest run.
func (m *migration) takeSettings() error {
	_, settings, err := migrate.Settings(m.context.String("out"))
	if err != nil {
		return err
	}
	for name, value := range settings {
		if m.context.IsSet(name) {
			continue
		}
		if err := m.context.Set(name, value); err != nil {
			return fmt.Errorf("the recorded option %s: %w", name, err)
		}
	}
	return nil
}
