package weftio

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/weft-trace/weft/attribution"
	"github.com/weft-trace/weft/convert"
	"github.com/weft-trace/weft/internal/migrate"
	"github.com/weft-trace/weft/pftrace"
)

// Options say where traces are and how they are converted. All members are texts and numbers, because Beam sends them to its workers.
type Options struct {
	Out  string // the folder of outputs: a local one, or gs://bucket/folder, s3://bucket/folder
	Root string // the folder below which outputs mirror inputs, likewise

	// Settings are the flags of weft convert that change bytes, by their names, such as "args" or "compress". Those that are the default may
	// be left out. See SettingNames.
	Settings map[string]string

	FileMemory  int64         // bytes for each conversion; 0: 128 MiB
	FileTimeout time.Duration // of a file; 0: none
	Verify      bool          // outputs are verified before they get their names; local ones only
	Named       bool          // every input must be a trace: others fail instead of being skipped

	Include, Exclude []string // globs on the path below Root, for Migrate; what an Exclude matches is left out
	MaxFiles         int      // Migrate fails if there are more; 0: no limit

	RetryFailed bool   // what failed for good is tried again
	Redo        string // as for weft migrate
}

// defaultFileMemory is weft migrate's.
const defaultFileMemory = 128 << 20

// A setting is an option that changes bytes.
type setting struct {
	fallback string
	set      func(c *migrate.Config, value string) error
}

func onOff(to func(*migrate.Config) *bool) func(*migrate.Config, string) error {
	return func(c *migrate.Config, value string) error {
		if value != "on" && value != "off" {
			return fmt.Errorf("%q is not on or off", value)
		}
		*to(c) = value == "off"
		return nil
	}
}

// settings are weft migrate's, except the ones that concern single traces (profile, self-profile, …).
var settings = map[string]setting{
	"format": {"auto", func(c *migrate.Config, v string) error { c.Convert.From = convert.Format(v); return nil }},
	"args": {"all", func(c *migrate.Config, v string) error {
		if v == "none" {
			c.Convert.NoArgs = true
		} else if c.Convert.Args = strings.Split(v, ","); slices.Contains(c.Convert.Args, "") {
			return fmt.Errorf("%q holds an empty name", v)
		}
		return nil
	}},
	"compress":    {"zstd", func(c *migrate.Config, v string) error { c.Convert.Compression = pftrace.Compression(v); return nil }},
	"packets":     {"compact", func(c *migrate.Config, v string) error { c.Convert.Packets = pftrace.Packets(v); return nil }},
	"samples":     {"stack-sample", func(c *migrate.Config, v string) error { c.Convert.Samples = pftrace.Samples(v); return nil }},
	"screenshots": {"on", onOff(func(c *migrate.Config) *bool { return &c.Convert.NoScreenshots })},
	"long-tasks":  {"on", onOff(func(c *migrate.Config) *bool { return &c.Convert.NoLongTasks })},
	"js-calls":    {"refined", func(c *migrate.Config, v string) error { c.Convert.JSCalls = convert.JSCalls(v); return nil }},
	"perfetto":    {"skip", func(c *migrate.Config, v string) error { c.Perfetto = v; return nil }},
	"attribute": {"false", func(c *migrate.Config, v string) error {
		on, err := strconv.ParseBool(v)
		if on {
			c.Convert.Attribute = new(attribution.Options)
		}
		return err
	}},
}

// SettingNames returns the names that Options.Settings may have.
func SettingNames() []string { return slices.Sorted(maps.Keys(settings)) }

// SettingDefault returns the value that a setting has if it is not given.
func SettingDefault(name string) string { return settings[name].fallback }

// config converts the options.
func (o *Options) config() (c migrate.Config, err error) {
	if o.Out == "" {
		return c, fmt.Errorf("the folder of outputs is missing")
	}
	c = migrate.Config{
		Out: o.Out, Root: o.Root, FileTimeout: o.FileTimeout, Verify: o.Verify,
		// Runners may repeat bundles, so an existing output may be this job's.
		Force: true, RetryFailed: o.RetryFailed, Redo: o.Redo,
		Settings: map[string]string{},
	}
	c.Convert.Compression, c.Convert.Packets = pftrace.Zstd, pftrace.Compact
	if c.Convert.Memory = o.FileMemory; c.Convert.Memory == 0 {
		c.Convert.Memory = defaultFileMemory
	}
	for _, glob := range o.Include {
		c.Filters = append(c.Filters, migrate.Filter{Glob: glob})
	}
	for _, glob := range o.Exclude {
		c.Filters = append(c.Filters, migrate.Filter{Glob: glob, Exclude: true})
	}
	for name, value := range o.Settings {
		s, known := settings[name]
		if !known {
			return c, fmt.Errorf("there is no setting %q; there are %s", name, strings.Join(SettingNames(), ", "))
		}
		if value == s.fallback || value == "" {
			continue
		}
		if err := s.set(&c, value); err != nil {
			return c, fmt.Errorf("%s: %w", name, err)
		}
		c.Settings[name] = value
	}
	if c.Convert.Attribute != nil {
		if c.Convert.NoArgs || len(c.Convert.Args) > 0 {
			return c, fmt.Errorf("args: attribution needs all arguments")
		}
		c.Settings["file-memory"] = sizeText(c.Convert.Memory) // it decides which data does not fit and is left out
	}
	if o.Verify && isRemote(o.Out) {
		return c, fmt.Errorf("only local outputs can be verified before they get their names; run weft verify on %s", o.Out)
	}
	if _, err := migrate.NewBatch(c, remoteStorage{}, nil); err != nil { // which checks the rest
		return c, err
	}
	return c, nil
}

// sizeText formats a number of bytes as weft migrate records it: 128MiB.
func sizeText(n int64) string {
	for _, unit := range []struct {
		size int64
		name string
	}{{1 << 30, "GiB"}, {1 << 20, "MiB"}, {1 << 10, "KiB"}} {
		if n >= unit.size && n%unit.size == 0 {
			return fmt.Sprintf("%d%s", n/unit.size, unit.name)
		}
	}
	return strconv.FormatInt(n, 10)
}

// Validate returns an error if options are wrong.
func (o *Options) Validate() error {
	_, err := o.config()
	return err
}

// check panics if options are wrong, as Beam's functions for pipelines do.
func (o *Options) check() {
	if err := o.Validate(); err != nil {
		panic(fmt.Sprintf("weftio: %v", err))
	}
}

// id identifies options within a process.
func (o *Options) id() string {
	text, err := json.Marshal(o)
	if err != nil {
		panic(err) // texts and numbers always have a JSON form
	}
	return string(text)
}

// isRemote reports whether a name is an object or folder in a store, and not on this machine.
func isRemote(name string) bool { return strings.Contains(name, "://") }
