package main

import (
	"io"
	"strings"

	"github.com/weft-trace/weft/internal/tracer"
)

// scriptReport is the JSON form of a script.
type scriptReport struct {
	Script  string        `json:"script"` // the name of its file
	Tracer  tracer.Tracer `json:"tracer"`
	About   string        `json:"about"`
	Default bool          `json:"default"` // weft probes record runs it by default
	Records bool          `json:"records"` // it prints probe lines; other scripts print tables
	Run     string        `json:"run"`     // the tracer it was run with, or why it was not run
	Usage   string        `json:"usage"`   // how to run it without weft
	Probes  []scriptProbe `json:"probes"`
	Text    string        `json:"text,omitempty"` // of the requested script
}

// scriptProbe is a probe that a script records.
type scriptProbe struct {
	Name      string          `json:"name"` // PROVIDER:PROBE
	Arguments []probeArgument `json:"arguments"`
}

// probeArgument is an argument of a probe.
type probeArgument struct {
	Name string `json:"name"`
	Type string `json:"type"`
}

func newScriptReport(s *tracer.Script) *scriptReport {
	r := &scriptReport{
		Script: s.File(), Tracer: s.Tracer, About: s.About(), Default: s.Name == s.Tracer.Default(), Records: s.Records(), Run: s.TestedWith(), Usage: s.Usage(),
		Probes: []scriptProbe{},
	}
	for _, p := range s.Probes() {
		probe := scriptProbe{Name: p.Name, Arguments: []probeArgument{}}
		for _, argument := range strings.Fields(p.Arguments) {
			if name, typ, ok := strings.Cut(argument, ":"); ok {
				probe.Arguments = append(probe.Arguments, probeArgument{name, typ})
			}
		}
		r.Probes = append(r.Probes, probe)
	}
	return r
}

// writeScriptsJSON writes a line for each script of a tracer or, if only is empty, of all tracers.
func writeScriptsJSON(w io.Writer, only tracer.Tracer) error {
	scripts, err := tracer.Scripts()
	if err != nil {
		return err
	}
	for i := range scripts {
		if only != "" && scripts[i].Tracer != only {
			continue
		}
		if err := writeJSON(w, newScriptReport(&scripts[i])); err != nil {
			return err
		}
	}
	return nil
}
