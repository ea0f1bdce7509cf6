package main

import (
	"cmp"
	"os"
	"slices"
	"strconv"

	"github.com/urfave/cli/v2"

	"github.com/weft-trace/weft/convert"
	"github.com/weft-trace/weft/internal/selection"
	"github.com/weft-trace/weft/pftrace"
)

func viewCommand(env *environment) *cli.Command {
	return &cli.Command{
		Name:      "view",
		Usage:     "show a report on traces, and the traces in the Perfetto UI, in the browser",
		UsageText: "weft view [flags] FILE|FOLDER…",
		Description: `Shows the report on each FILE in a page of the browser, and in a second tab of it the
Perfetto UI with the trace. Nothing of the trace leaves the machine, and no one else on
it can read it. Perfetto traces are shown as they are. Ctrl-C ends it; what the page
shows stays.

Examples:
   weft view trace.json.gz
   weft view --from 1.5s --to 2s trace.json    this part of the timeline
   weft view --event 1234 trace.json           this event, as weft dump numbers them
   weft view --pin 'CrRendererMain' trace.json
   weft view --attribute trace.json            with the contexts that slices ran for
   weft view --no-open trace.json              print the address, for another browser

The page is only reachable from this machine; docs/view.md says how to look from another
one, and how to use a Perfetto UI that is not on the internet.`,
		Flags: append(viewFlags(), pick(convertCommand(env).Flags, "force", "format", "args", "memory", "quiet", "attribute", "js-calls", "profile", filesFrom)...),
		Action: func(c *cli.Context) error {
			job, err := newViewJob(c, env)
			if err != nil {
				return err
			}
			return job.run(c.Context)
		},
	}
}

// viewFlags returns the flags of view that convert lacks, or for which convert has different defaults.
func viewFlags() []cli.Flag {
	return []cli.Flag{
		&cli.BoolFlag{Name: "no-open", Usage: "open no browser, print the address", DisableDefaultText: true},
		&cli.IntFlag{Name: "port", Usage: "listen on port `N` of 127.0.0.1", DefaultText: "any that is free"},
		&cli.BoolFlag{Name: "once", Usage: "end when Perfetto has the trace; of several, when each was chosen in the page", DisableDefaultText: true},
		&cli.StringFlag{Name: "ui", Usage: "use another Perfetto UI: `WHERE` is its address, a perfetto-ui.zip or a folder", DefaultText: "$WEFT_UI, or https://ui.perfetto.dev"},
		&cli.BoolFlag{Name: "direct", Usage: "let Perfetto fetch the trace from port 9001, without a page around it: for traces of more than 2 GiB when packed", DisableDefaultText: true},
		&cli.StringFlag{Name: "from", Usage: "first show the timeline from `TIME` on: 1.5s or 300ms after the start of the trace, or @1.5s on its own clock", DefaultText: "the start"},
		&cli.StringFlag{Name: "to", Usage: "first show the timeline until `TIME`", DefaultText: "the end"},
		&cli.StringFlag{Name: "event", Usage: "select event `N` of the input (event=N in weft dump)"},
		&cli.StringSliceFlag{Name: "pin", Usage: "pin the tracks whose names match `REGEX`. May be repeated"},
		&cli.StringFlag{Name: "o", Aliases: []string{"output"}, Usage: "keep the converted trace as `FILE`", DefaultText: "a file without a name, in $TMPDIR"},
	}
}

// directPort is the only port that the content security policy of the Perfetto UI allows it to fetch from.
const directPort = 9001

// A viewJob is one call of the view command.
type viewJob struct {
	env    *environment
	files  []string
	opts   convert.Options
	asIs   bool   // show Perfetto traces unchanged
	output string // where to keep the converted trace; "": in a nameless file
	force  bool
	quiet  bool

	ui     string // location of the UI
	port   int
	noOpen bool
	once   bool
	direct bool

	window selection.Window // the part to show first
	event  *uint32          // the event to select; nil: none
	pin    []string
}

func newViewJob(c *cli.Context, env *environment) (*viewJob, error) {
	j := &viewJob{
		env: env, output: c.String("o"), force: c.Bool("force"), quiet: c.Bool("quiet"),
		ui: cmp.Or(c.String("ui"), os.Getenv("WEFT_UI")), port: c.Int("port"), noOpen: c.Bool("no-open"), once: c.Bool("once"), direct: c.Bool("direct"),
		pin: c.StringSlice("pin"),
	}
	found, err := namedInputs(c, env, c.Args().Slice())
	if err != nil {
		return nil, err
	}
	j.files = found.Paths()
	if j.opts, err = conversionOptions(c); err != nil {
		return nil, err
	}
	j.opts.Packets, j.opts.Compression = pftrace.Compact, pftrace.Uncompressed
	j.opts.KeepPackets = j.opts.Attribute != nil
	j.asIs = !changesPerfetto(c)
	if err := j.readFirstView(c); err != nil {
		return nil, err
	}
	if j.direct && !c.IsSet("port") {
		j.port = directPort
	}
	return j, j.check(c)
}

// changesPerfetto reports whether flags are set that require the conversion of Perfetto traces.
func changesPerfetto(c *cli.Context) bool {
	for _, name := range []string{"attribute", "args", "js-calls", "profile"} {
		if c.IsSet(name) {
			return true
		}
	}
	return false
}

// readFirstView reads the flags for the first view.
func (j *viewJob) readFirstView(c *cli.Context) (err error) {
	for _, name := range []string{"from", "to"} {
		if c.IsSet(name) && c.String(name) == "" {
			return usagef("--%s: the time is empty; write, for example, 1.5s or 300ms", name)
		}
	}
	if j.window, err = selection.ParseWindow(c.String("from"), c.String("to")); err != nil {
		return &usageError{Message: err.Error()}
	}
	if c.IsSet("event") {
		n, err := strconv.ParseUint(c.String("event"), 10, 32)
		if err != nil {
			return usagef("--event: %q is not the number of an event; weft dump prints event=N", c.String("event"))
		}
		event := uint32(n)
		j.event = &event
	}
	if slices.Contains(j.pin, "") {
		return usagef("--pin: the expression is empty; it would match every track")
	}
	return nil
}

// check rejects combinations that cannot work.
func (j *viewJob) check(c *cli.Context) error {
	several := len(j.files) > 1
	switch {
	case c.IsSet("ui") && c.String("ui") == "":
		return usagef("--ui: the place is empty; name an address, a perfetto-ui.zip or a folder")
	case c.IsSet("o") && j.output == "":
		return usagef("-o: the name is empty")
	case j.output == "-":
		return usagef("-o: view shows a file; to write to standard output, use weft convert -o -")
	case several && j.output != "":
		return usagef("-o takes one input, not %d; weft convert --out-dir writes several", len(j.files))
	case several && j.direct:
		return usagef("--direct shows one file, not %d", len(j.files))
	case several && (j.event != nil || !j.window.Whole()):
		return usagef("--from, --to and --event are about one file, not %d", len(j.files))
	case j.direct && len(j.pin) > 0, j.direct && j.event != nil, j.direct && !j.window.Whole():
		return usagef("--from, --to, --event and --pin do not work with --direct: the UI would tell others what is in its link")
	case j.port < 0 || j.port > 65535 || c.IsSet("port") && j.port == 0:
		return usagef("--port: %d is not a port; use 1 to 65535", j.port)
	}
	if several {
		j.opts.SelfProfile.Required = false // one self-profile is enough
	}
	return nil
}

// viewHint returns a message with the command to view a trace.
func viewHint(path string) string { return "weft view " + shellWord(printable(path)) + " shows it" }
