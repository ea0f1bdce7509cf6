package main

import (
	"github.com/urfave/cli/v2"

	"github.com/weft-trace/weft/convert"
	"github.com/weft-trace/weft/internal/jsonscan"
	"github.com/weft-trace/weft/trace"
)

// selfProfileFlags are the flags that say what a JS self-profile does not.
func selfProfileFlags() []cli.Flag {
	return []cli.Flag{
		&cli.StringFlag{Name: "sample-interval", Usage: "JS self-profiles: `MS` between samples", DefaultText: "from the file"},
		&cli.StringFlag{Name: "time-origin", Usage: "JS self-profiles: performance.timeOrigin of the page, `MS` since 1970", DefaultText: "from the file, or 0"},
		&cli.StringFlag{Name: "end", Usage: "JS self-profiles: end of the recording, `MS` since the time origin", DefaultText: "from the file"},
		&cli.StringFlag{Name: "thread-name", Usage: "JS self-profiles: `NAME` of the thread", DefaultText: "JS main"},
	}
}

// setSelfProfileFlags returns the flags that are set and apply to self-profiles only.
func setSelfProfileFlags(c *cli.Context) (flags []string) {
	for _, name := range []string{"sample-interval", "time-origin", "end", "thread-name"} {
		if c.IsSet(name) {
			flags = append(flags, "--"+name)
		}
	}
	return flags
}

// selfProfileOptions reads these flags. from is the format that the input is said to have.
func selfProfileOptions(c *cli.Context, from convert.Format) (opts convert.SelfProfileOptions, err error) {
	opts.ThreadName = c.String("thread-name")
	if flags := setSelfProfileFlags(c); len(flags) > 0 {
		opts.Required = true
		if from != convert.FormatAuto && from != convert.FormatJSProfile {
			return opts, usagef("%s is for JS self-profiles, and the input format is %s", flags[0], from)
		}
	}
	if c.IsSet("sample-interval") {
		interval, err := millisFlag(c, "sample-interval")
		if err != nil {
			return opts, err
		}
		if interval <= 0 {
			return opts, usagef("--sample-interval must be greater than 0")
		}
		opts.SampleInterval = interval
	}
	if c.IsSet("time-origin") {
		origin, err := millisFlag(c, "time-origin")
		if err != nil {
			return opts, err
		}
		opts.TimeOrigin = &origin
	}
	if c.IsSet("end") {
		end, err := millisFlag(c, "end")
		if err != nil {
			return opts, err
		}
		opts.End = &end
	}
	return opts, nil
}

// millisFlag reads the value of a flag, a number of milliseconds, exactly.
func millisFlag(c *cli.Context, name string) (trace.Nanos, error) {
	ns, ok := jsonscan.Decimal([]byte(c.String(name)), 6)
	if !ok {
		return 0, usagef("--%s: %q is not a number of milliseconds", name, c.String(name))
	}
	return trace.Nanos(ns), nil
}
