package main

import (
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/weft-trace/weft/attribution"
	"github.com/weft-trace/weft/convert"
	engine "github.com/weft-trace/weft/internal/attribution"
)

func attributeCommand(env *environment) *cli.Command {
	return &cli.Command{
		Name:      "attribute",
		Usage:     "attribute time to frames, scripts, input events and other contexts",
		UsageText: "weft attribute [flags] INPUT…",
		Description: `Finds the contexts that each slice ran for (frame, script, input event, isolate) and
writes them into the trace: as the argument "contexts" of the slice, as tracks
"Context: TYPE" that show when each context was active, as a track "Contexts"
that describes each context, and as trace attributes with the cost of each.

A Perfetto trace keeps all its packets unchanged; weft adds its own. Traces in
other formats are converted. docs/attribution.md explains the rules;
"weft report cost" prints the costs.`,
		Flags: pick(convertCommand(env).Flags, "o", "out-dir", "force", filesFrom, "format", "compress", "memory", "strict", "quiet", "json",
			"write-back", "context-rule", "js-calls", "profile"),
		Action: func(c *cli.Context) error {
			job, err := newConvertJob(c, env)
			if err != nil {
				return err
			}
			return job.run(c.Context)
		},
	}
}

// contextFlags returns the flags that control how contexts are found. All commands that find contexts need them.
func contextFlags() []cli.Flag {
	return []cli.Flag{
		&cli.StringSliceFlag{Name: "context-rule", Usage: "`KEY=VALUE`, a rule of the attribution: sources=LIST (only these: " + strings.Join(engine.SourceNames(), ", ") + "), scope=slice " +
			"(contexts that are never left end with their slice, not their thread), flow=keep or flow=lca (if a flow brings another context; default: replace); repeatable"},
	}
}

// writeBackFlag selects the parts of an attribution to write.
func writeBackFlag() cli.Flag {
	return &cli.StringFlag{Name: "write-back", Value: "all", Usage: "write only the parts of the attribution in `LIST`: notes, tracks, catalogue, costs"}
}

// contextOptions reads contextFlags. For commands that lack these flags, it returns the defaults.
func contextOptions(c *cli.Context) (*attribution.Options, error) {
	opts := &attribution.Options{}
	for _, rule := range c.StringSlice("context-rule") {
		key, value, _ := strings.Cut(rule, "=")
		var err error
		switch {
		case key == "sources" && value != "all":
			for name := range strings.SplitSeq(value, ",") {
				if _, err = engine.ParseSource(name); err != nil {
					break
				}
				opts.Sources = append(opts.Sources, attribution.Via(name))
			}
		case key == "sources":
			opts.Sources = nil
		case key == "scope" && (value == "thread" || value == "slice"):
			opts.EndWithSlice = value == "slice"
		case key == "flow":
			opts.FlowConflict = attribution.FlowConflict(value)
			_, err = engine.ParseFlowConflict(value)
		default:
			return nil, usagef("--context-rule: unknown rule %q; use sources=LIST, scope=thread, scope=slice, flow=replace, flow=keep or flow=lca", rule)
		}
		if err != nil {
			return nil, usagef("--context-rule: %v", err)
		}
	}
	return opts, nil
}

// setAttribution reads the attribution flags of a conversion.
func setAttribution(c *cli.Context, opts *convert.Options) (err error) {
	isAttribute := c.Command.Name == "attribute"
	if !isAttribute && !c.Bool("attribute") {
		for _, f := range append(contextFlags(), writeBackFlag()) {
			if name := f.Names()[0]; c.IsSet(name) {
				return usagef("--%s needs --attribute", name)
			}
		}
		return nil
	}
	if args := c.String("args"); args != "all" && args != "" {
		return usagef("--args %s: attribution needs all arguments; leave out --args", args)
	}
	opts.KeepPackets = isAttribute
	if opts.Attribute, err = contextOptions(c); err != nil {
		return err
	}
	list := c.String("write-back")
	if list == "all" || list == "" {
		return nil
	}
	w := attribution.WriteBack{NoNotes: true, NoTracks: true, NoCatalogue: true, NoCosts: true}
	for name := range strings.SplitSeq(list, ",") {
		switch name {
		case "notes":
			w.NoNotes = false
		case "tracks":
			w.NoTracks = false
		case "catalogue":
			w.NoCatalogue = false
		case "costs":
			w.NoCosts = false
		default:
			return unknownValue("write-back", "part", name, "notes", "tracks", "catalogue", "costs")
		}
	}
	opts.WriteBack = w
	return nil
}
