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
			"write-back", "context-sources", "context-scope", "flow-conflict", "js-calls", "profile"),
		Action: func(c *cli.Context) error {
			job, err := newConvertJob(c, env)
			if err != nil {
				return err
			}
			return job.run(c.Context)
		},
	}
}

// contextFlags are the flags about contexts. Those that say how contexts are found are needed by all commands that look
// for them.
func contextFlags() []cli.Flag {
	return []cli.Flag{
		&cli.StringFlag{Name: "context-sources", Value: "all", Usage: "use only the context sources in `LIST`: " + strings.Join(engine.SourceNames(), ", ")},
		&cli.StringFlag{Name: "context-scope", Value: "thread", Usage: "end contexts that are never left with their `SCOPE`: thread or slice"},
		&cli.StringFlag{Name: "flow-conflict", Value: "replace", Usage: "`ACTION` if a flow brings another context: replace, keep or lca (lowest common ancestor)"},
	}
}

// writeBackFlag says what of an attribution is written.
func writeBackFlag() cli.Flag {
	return &cli.StringFlag{Name: "write-back", Value: "all", Usage: "write only the parts of the attribution in `LIST`: notes, tracks, catalogue, costs"}
}

// contextOptions reads contextFlags. Commands that lack them get their defaults.
func contextOptions(c *cli.Context) (*attribution.Options, error) {
	opts := &attribution.Options{}
	if list := c.String("context-sources"); list != "all" && list != "" {
		for name := range strings.SplitSeq(list, ",") {
			if _, err := engine.ParseSource(name); err != nil {
				return nil, usagef("--context-sources: %v", err)
			}
			opts.Sources = append(opts.Sources, attribution.Via(name))
		}
	}
	switch scope := c.String("context-scope"); scope {
	case "thread", "":
	case "slice":
		opts.EndWithSlice = true
	default:
		return nil, unknownValue("context-scope", "scope", scope, "thread", "slice")
	}
	if way := c.String("flow-conflict"); way != "" {
		opts.FlowConflict = attribution.FlowConflict(way)
		if _, err := engine.ParseFlowConflict(way); err != nil {
			return nil, usagef("--flow-conflict: %v", err)
		}
	}
	return opts, nil
}

// setAttribution reads the flags of a conversion that attributes.
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
