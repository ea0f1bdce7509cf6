package main

import (
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/weft-trace/weft/internal/commandline"
)

// Completion and help offer exactly the flags that a report accepts.
func TestFlagsOfReports(t *testing.T) {
	list, input := filepath.Join(t.TempDir(), "list"), filepath.Join(t.TempDir(), "trace.json")
	if err := os.WriteFile(input, []byte(`[{"ph":"X","pid":1,"tid":2,"name":"work","ts":1,"dur":5000}]`), 0o600); err != nil {
		t.Fatal(err)
	}
	values := map[string]string{
		"limit": "3", "files-from": list, "memory": "64MiB", "tmp": t.TempDir(), "bucket": "1ms", "type": "process", "from": "0", "to": "1ms", "kind": "all",
		"context-rule": "flow=keep", "js-calls": "off", "charge": "exact",
		"mode": "dtrace", "min": "1ms", "paint": "PrePaint", "phases": list, "html": "-", "format": "auto", "profile": "all",
	}
	for _, r := range reports() {
		c := newConsole(strings.NewReader(""), false)
		app := newApp(&c.environment)
		command := commandline.FindCommand(app.Commands, "report")
		var offered []string
		for _, candidate := range commandline.Candidates(app, []string{"report", r.name, "--"}, vocabulary{}) {
			offered = append(offered, strings.TrimPrefix(candidate.Text, "--"))
		}
		help := string(runWeft(t, "report", r.name, "--help"))
		for _, f := range command.Flags {
			name := f.Names()[0]
			args := []string{"weft", "report", r.name, input}
			if value, known := values[name]; known {
				args = append(args, "--"+name+"="+value)
			} else if commandline.TakesValue(f, "--"+name) {
				args = append(args, "--"+name+"=x")
			} else {
				args = append(args, "--"+name)
			}
			if r.name == allReport && name != "html" || name == "keep-urls" || name == "force" {
				args = append(args, "--html=-")
			}
			c := newConsole(strings.NewReader(""), false)
			c.stdout = io.Discard
			run(t.Context(), args, &c.environment)
			said := c.err.String()
			takes := true
			for _, no := range []string{"does not have this flag", "takes one file", "cannot be combined"} {
				takes = takes && !strings.Contains(said, no)
			}
			if r.name == allReport && name == "json" || name == "files-from" && r.name == allReport {
				continue // these and --html exclude each other
			}
			if slices.Contains(offered, name) != takes || strings.Contains(help, "--"+name+" ") != takes && strings.Contains(help, "--"+name+",") != takes {
				t.Errorf("weft report %s --%s: taken: %v, offered: %v: %s", r.name, name, takes, slices.Contains(offered, name), said)
			}
		}
	}
}

// Completion offers exactly the flag values that a report accepts.
func TestValuesOfReports(t *testing.T) {
	input := filepath.Join(t.TempDir(), "trace.json")
	if err := os.WriteFile(input, []byte(`[{"ph":"X","pid":1,"tid":2,"name":"work","cat":"code","ts":1,"dur":5000}]`), 0o600); err != nil {
		t.Fatal(err)
	}
	app := newApp(&newConsole(strings.NewReader(""), false).environment)
	values := 0
	for _, r := range reports() {
		for _, f := range commandline.Candidates(app, []string{"report", r.name, "--"}, vocabulary{}) {
			for _, value := range commandline.Candidates(app, []string{"report", r.name, input, f.Text, ""}, vocabulary{}) {
				if strings.HasPrefix(value.Text, ":") || strings.HasSuffix(value.Text, "=") || value.Text == input {
					continue
				}
				values++
				c := newConsole(strings.NewReader(""), false)
				c.stdout = io.Discard
				run(t.Context(), []string{"weft", "report", r.name, input, f.Text + "=" + value.Text}, &c.environment)
				if said := c.err.String(); strings.Contains(said, "unknown") || strings.Contains(said, "there is no") || strings.Contains(said, "does not have") {
					t.Errorf("weft report %s %s=%s: %s", r.name, f.Text, value.Text, said)
				}
			}
		}
	}
	if values < 100 {
		t.Errorf("only %d values", values)
	}
	for text, want := range map[string]string{"report input --kind ": "click", "convert --strict=": "--strict=all"} {
		words := strings.Split(text, " ")
		if list := commandline.Candidates(app, words, vocabulary{}); !slices.ContainsFunc(list, func(c commandline.Candidate) bool { return c.Text == want }) {
			t.Errorf("%s: %v", text, list)
		}
	}
}
