package main

import (
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/weft-trace/weft/attribution"
	"github.com/weft-trace/weft/convert"
)

func attributeCommand(env *environment) *cli.Command {
	convertFlags := convertCommand(env).Flags
	return &cli.Command{
		Name:      "attribute",
		Usage:     "attribute work to frames, scripts, input events and other contexts",
		UsageText: "weft attribute [flags] INPUT…",
		Description: `Gives every slice the contexts for which it worked (the frame, the script, the input event,
the isolate) as its argument "contexts", and says how each is known. Tracks named
"Context: TYPE" show when which context was in effect, a track "Contexts" what is known of
each, and the facts about the trace what each has cost.

A Perfetto trace stays as it is, packet by packet; what weft found is added. All other
formats are converted on the way. docs/attribution.md explains the rules; "weft report cost"
prints the costs.`,
		Flags: slices.DeleteFunc(convertFlags, func(f cli.Flag) bool { return slices.Contains(f.Names(), "attribute") }),
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
		&cli.StringFlag{Name: "context-sources", Value: "all", Usage: "find contexts in the ways `LIST` only: " + strings.Join(attribution.SourceNames(), ", ")},
		&cli.StringFlag{Name: "context-scope", Value: "thread", Usage: "contexts that are entered and not left hold to the end of their `WHAT`: thread, or slice"},
		&cli.StringFlag{Name: "flow-conflict", Value: "replace", Usage: "where a flow brings another context than the active one, `DO` replace, keep or lca (their common ancestor)"},
	}
}

// writeBackFlag says what of an attribution is written.
func writeBackFlag() cli.Flag {
	return &cli.StringFlag{Name: "write-back", Value: "all", Usage: "of the contexts, write `LIST` only: notes, tracks, catalogue, costs"}
}

// contextOptions reads contextFlags.
func contextOptions(c *cli.Context) (*attribution.Options, error) {
	opts := &attribution.Options{}
	if list := c.String("context-sources"); list != "all" {
		for name := range strings.SplitSeq(list, ",") {
			via, err := attribution.ParseSource(name)
			if err != nil {
				return nil, usagef("--context-sources: %v", err)
			}
			opts.Sources = append(opts.Sources, via)
		}
	}
	switch scope := c.String("context-scope"); scope {
	case "thread":
	case "slice":
		opts.EndWithSlice = true
	default:
		return nil, unknownValue("context-scope", "scope", scope, "thread", "slice")
	}
	var err error
	if opts.FlowConflict, err = attribution.ParseFlowConflict(c.String("flow-conflict")); err != nil {
		return nil, usagef("--flow-conflict: %v", err)
	}
	return opts, nil
}

// setAttribution reads the flags of a conversion that attributes.
func setAttribution(c *cli.Context, opts *convert.Options) (err error) {
	isAttribute := c.Command.Name == "attribute"
	if !isAttribute && !c.Bool("attribute") {
		for _, f := range append(contextFlags(), writeBackFlag()) {
			if name := f.Names()[0]; c.IsSet(name) {
				return usagef("--%s: it needs --attribute, which finds contexts", name)
			}
		}
		return nil
	}
	if args := c.String("args"); args != "all" {
		return usagef("--args %s: attribution reads the arguments of events and needs all of them: leave out --args", args)
	}
	opts.KeepPackets = isAttribute
	if opts.Attribute, err = contextOptions(c); err != nil {
		return err
	}
	list := c.String("write-back")
	if list == "all" {
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
