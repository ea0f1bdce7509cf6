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

// Options specifies where traces are and how to convert them. All fields have a JSON form, because Beam sends options to its
// workers.
type Options struct {
	Out  string // the output folder: a local one, gs://bucket/folder or s3://bucket/folder
	Root string // the input folder that outputs mirror; local or remote, as for Out

	// Settings holds the values of the weft convert flags that affect the output, by name, such as "args" or "compress". Defaults
	// can be omitted. See SettingNames.
	Settings map[string]string

	FileMemory  int64         // bytes for each conversion; 0: 128 MiB
	FileTimeout time.Duration // per file; 0: none
	Verify      bool          // verify outputs before they get their names; local outputs only
	Named       bool          // inputs that are not traces fail instead of being skipped

	Include, Exclude []string // globs for paths below Root, for Migrate; Exclude overrides Include
	MaxFiles         int      // Migrate fails if there are more; 0: no limit

	RetryFailed bool   // retry files that failed permanently
	Redo        string // as for weft migrate
}

// defaultFileMemory is the same as in weft migrate.
const defaultFileMemory = 128 << 20

// A setting is an option that affects the output.
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

// settings holds the settings of weft migrate, except the settings for individual traces (profile, self-profile, …).
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

// SettingNames returns the valid keys of Options.Settings, sorted.
func SettingNames() []string { return slices.Sorted(maps.Keys(settings)) }

// SettingDefault returns the default value of a setting.
func SettingDefault(name string) string { return settings[name].fallback }

// config validates the options and converts them to a migrate.Config.
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
		c.Settings["file-memory"] = sizeText(c.Convert.Memory) // it determines which data does not fit and is omitted
	}
	if o.Verify && isRemote(o.Out) {
		return c, fmt.Errorf("only local outputs can be verified before they get their names; run weft verify on %s", o.Out)
	}
	if _, err := migrate.NewBatch(c, remoteStorage{}, nil); err != nil { // NewBatch checks the other options
		return c, err
	}
	return c, nil
}

// sizeText formats a number of bytes as weft migrate records it, such as 128MiB.
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

// Validate returns an error if options are invalid.
func (o *Options) Validate() error {
	_, err := o.config()
	return err
}

// check panics if options are invalid, as Beam's pipeline functions do.
func (o *Options) check() {
	if err := o.Validate(); err != nil {
		panic(fmt.Sprintf("weftio: %v", err))
	}
}

// id returns a string that identifies the options within a process.
func (o *Options) id() string {
	text, err := json.Marshal(o)
	if err != nil {
		panic(err) // all fields have a JSON form
	}
	return string(text)
}

// isRemote reports whether a name denotes an object or folder in a store rather than a local file.
func isRemote(name string) bool { return strings.Contains(name, "://") }
