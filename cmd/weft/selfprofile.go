package main

import (
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/weft-trace/weft/convert"
	"github.com/weft-trace/weft/internal/jsonscan"
	"github.com/weft-trace/weft/trace"
)

// selfProfileKeys are the settings of --self-profile.
var selfProfileKeys = []string{"interval", "origin", "end", "thread"}

// selfProfileFlag returns the flag for facts that a JS self-profile lacks.
func selfProfileFlag() cli.Flag {
	return &cli.StringSliceFlag{Name: "self-profile", Usage: "JS self-profiles: `KEY=VALUE` for what the file lacks: interval=MS between samples, " +
		"origin=MS since 1970 (performance.timeOrigin), end=MS since then, thread=NAME; repeatable"}
}

// selfProfileOptions reads the flag. The parameter from is the input format.
func selfProfileOptions(c *cli.Context, from convert.Format) (opts convert.SelfProfileOptions, err error) {
	for _, setting := range c.StringSlice("self-profile") {
		opts.Required = true
		key, value, ok := strings.Cut(setting, "=")
		switch {
		case from != convert.FormatAuto && from != convert.FormatJSProfile:
			return opts, usagef("--self-profile is for JS self-profiles, and the input format is %s", from)
		case !ok || !slices.Contains(selfProfileKeys, key):
			return opts, usagef("--self-profile: unknown setting %q; use interval=MS, origin=MS, end=MS or thread=NAME", setting)
		case key == "thread":
			opts.ThreadName = value
			continue
		}
		ns, ok := jsonscan.Decimal([]byte(value), 6)
		millis := trace.Nanos(ns)
		switch {
		case !ok:
			return opts, usagef("--self-profile: %s: %q is not a number of milliseconds", key, value)
		case key == "origin":
			opts.TimeOrigin = &millis
		case key == "end":
			opts.End = &millis
		case millis <= 0:
			return opts, usagef("--self-profile: interval must be greater than 0")
		default:
			opts.SampleInterval = millis
		}
	}
	return opts, nil
}
