package main

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"regexp"
	"slices"

	"github.com/urfave/cli/v2"

	"github.com/weft-trace/weft/internal/inputs"
	"github.com/weft-trace/weft/internal/table"
	"github.com/weft-trace/weft/pftrace"
)

func verifyCommand(env *environment) *cli.Command {
	return &cli.Command{
		Name:      "verify",
		Usage:     "check Perfetto traces against the rules of the format",
		UsageText: "weft verify [flags] FILE|FOLDER…",
		Description: `Checks packets, interning, tracks, times, nesting, flows and arguments. A violation
is something that Perfetto would drop or show wrongly; weft prints the index of
the packet and its byte offset in the unpacked file. A warning is legal. A folder means
the Perfetto traces in it, by their names. "-" is standard input.

Traces of other programs, such as ring-buffer recordings, may end slices or flows
that they never began. weft warns about that; --pedantic makes it a violation.

The exit code is 1 if there is a violation.`,
		Flags: []cli.Flag{
			jsonFlag("print one line of JSON per file"),
			&cli.BoolFlag{Name: "pedantic", Usage: "apply all rules to traces of other programs too", DisableDefaultText: true},
			filesFromFlag(),
		},
		Action: func(c *cli.Context) error {
			return eachFile(c, env, c.Args().Slice(), true, func(name string, src *input) error {
				return verify(c, env, name, src)
			})
		},
	}
}

// verify checks one file. It returns errReported if the file has violations.
func verify(c *cli.Context, env *environment, name string, src *input) error {
	progress := startProgress(env, inputName(name), src.size, true)
	report, json, err := verifyReader(c, progress.reader(src))
	progress.Stop()
	if err != nil {
		return fmt.Errorf("%s: %w", inputName(name), withoutPath(err))
	}
	if c.Bool("json") {
		err = writeJSON(env.stdout, &namedVerifyReport{Input: inputName(name), VerifyReport: report})
	} else {
		err = writeVerify(env, name, report, json)
	}
	if err == nil && !report.OK() {
		return errReported
	}
	return err
}

// verifyReader checks the trace in r. It also reports whether r starts like JSON.
func verifyReader(c *cli.Context, r io.Reader) (report *pftrace.VerifyReport, json bool, err error) {
	unpacked, err := inputs.UnpackStrict(c.Context, r, "")
	if err != nil {
		return nil, false, err
	}
	defer unpacked.Close()
	buffered := bufio.NewReader(unpacked)
	head, _ := buffered.Peek(64) // an error recurs in Verify
	report, err = pftrace.Verify(c.Context, buffered, pftrace.VerifyOptions{Strict: c.Bool("pedantic")})
	return report, beginsLikeJSON.Match(head), err
}

// beginsLikeJSON matches the start of a JSON array or object. The first byte may be a line feed, which also starts a Perfetto
// trace, but no packet continues like this.
var beginsLikeJSON = regexp.MustCompile(`^\s*(?:\{\s*["}]|\[\s*[\]{])`)

// namedVerifyReport is the output of --json.
type namedVerifyReport struct {
	Input string `json:"input"`
	*pftrace.VerifyReport
}

func writeVerify(env *environment, name string, r *pftrace.VerifyReport, json bool) error {
	var b bytes.Buffer
	on, verdict := env.terminal(env.stdout), "valid"
	if !r.OK() {
		verdict = on.Severe("INVALID")
	}
	fmt.Fprintf(&b, "%s: %s; %s packets, %s events; violations: %s, warnings: %s\n", printable(inputName(name)), verdict, table.Thousands(r.Packets),
		table.Thousands(r.Events), table.Thousands(r.Violations), table.Thousands(r.Warnings))
	if detail := notPerfetto(r, json); detail != "" {
		// For a file in another format the other fields are meaningless.
		_, err := fmt.Fprintf(env.stdout, "%s  %s\n", b.String(), printable(detail+" to convert it: weft convert "+name))
		return err
	}
	for _, finding := range r.Findings {
		kind := on.Severe("violation")
		if finding.Warning {
			kind = on.Warning("warning") + "  "
		}
		fmt.Fprintf(&b, "  %s  %s ×%s: %s\n", kind, finding.Rule, table.Thousands(finding.Count), finding.Sentence)
		for _, found := range finding.Cases {
			fmt.Fprintf(&b, "               %s\n", printable(found.String()))
		}
	}
	_, err := env.stdout.Write(b.Bytes())
	return err
}

// notPerfetto describes a file that is not a Perfetto trace; "" if it is one.
func notPerfetto(r *pftrace.VerifyReport, json bool) string {
	i := slices.IndexFunc(r.Findings, func(f pftrace.VerifyFinding) bool { return f.Rule == "first_byte" && r.Packets == 0 })
	switch {
	case i >= 0 && r.Bytes > 0:
		return "not a Perfetto trace (" + r.Findings[i].Cases[0].Detail + ");"
	case json && !r.OK():
		return "not a Perfetto trace (it is JSON);"
	}
	return ""
}
