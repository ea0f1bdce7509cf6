package tracer

// This file and clauses.go read the tracer scripts that weft ships. A script records probes as lines that weft reads
// (docs/formats/probes.md). All properties of a script are read from its text: the purpose, usage and tested tracer from the
// comment at its head, and the parameters from the features that it uses.

import (
	"embed"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/weft-trace/weft/internal/words"
)

// Tracer is a program that runs scripts.
type Tracer string

const (
	Bpftrace Tracer = "bpftrace"
	DTrace   Tracer = "dtrace"
)

// Tracers returns all tracers, in the order in which they are listed.
func Tracers() []Tracer { return []Tracer{Bpftrace, DTrace} }

// ParseTracer returns the tracer with the given name.
func ParseTracer(name string) (Tracer, error) {
	if t := Tracer(name); slices.Contains(Tracers(), t) {
		return t, nil
	}
	return "", words.Unknown("tracer", name, []string{string(Bpftrace), string(DTrace)})
}

// Extension returns the file extension of the tracer's scripts.
func (t Tracer) Extension() string {
	if t == DTrace {
		return ".d"
	}
	return ".bt"
}

// Default returns the name of the script that records all trace_mozilla probes that the tracer supports.
func (t Tracer) Default() string {
	if t == DTrace {
		return "layout"
	}
	return "mozilla"
}

// A Script is a program that a tracer runs.
type Script struct {
	Name   string // without extension
	Tracer Tracer
	Text   string
}

// File returns the name of the script's file.
func (s *Script) File() string { return s.Name + s.Tracer.Extension() }

// About returns the purpose of the script according to its head, or "" if there is no such line.
func (s *Script) About() string { return s.head(s.File() + ": ") }

// TestedWith returns the sentence in the head that names the tracer with which the script was tested, or explains why it was
// not.
func (s *Script) TestedWith() string {
	if line := s.head("Run with "); line != "" {
		return "Run with " + line
	}
	if line := s.head("Not run: "); line != "" {
		return "Not run: " + line
	}
	return ""
}

// Usage returns the command in the head that runs the script without weft.
func (s *Script) Usage() string { return s.head("Usage: ") }

// head returns the rest of the first line that starts with a prefix in the comment at the head of the script.
func (s *Script) head(prefix string) string {
	comment, _, _ := strings.Cut(s.Text, "*/")
	for line := range strings.Lines(comment) {
		line = strings.TrimSpace(strings.TrimPrefix(strings.TrimLeft(line, " /"), "*"))
		if rest, ok := strings.CutPrefix(line, prefix); ok {
			return rest
		}
	}
	return ""
}

// Records reports whether the script prints probe lines. Other scripts print tables.
func (s *Script) Records() bool { return strings.Contains(s.Text, "#probelines 1") }

// JSON reports whether the script prints tuples, which bpftrace prints completely only as JSON.
func (s *Script) JSON() bool { return s.Tracer == Bpftrace && strings.Contains(s.Text, "print((") }

// NeedsProgram reports whether the script's first parameter is the path of the program that contains the probes.
func (s *Script) NeedsProgram() bool { return s.Tracer == Bpftrace && strings.Contains(s.Text, "$1") }

// NeedsCommand reports whether the script works only with a command that the tracer starts, not with a running process.
func (s *Script) NeedsCommand() bool { return s.Tracer == Bpftrace && strings.Contains(s.Text, "cpid") }

// A Probe is a declaration of a probe in a script.
type Probe struct {
	Name      string // provider:name
	Arguments string // as declared: name:type, separated by blanks
}

// Probes returns the probes that the script declares, in order of declaration.
func (s *Script) Probes() (probes []Probe) {
	for _, part := range strings.Split(s.Text, "#probe ")[1:] {
		end := strings.IndexAny(part, "\\\"\n") // the \n of the printf, or its end
		if end < 0 {
			continue
		}
		name, arguments, _ := strings.Cut(part[:end], " ")
		probes = append(probes, Probe{Name: name, Arguments: arguments})
	}
	return probes
}

//go:embed scripts
var files embed.FS

// Scripts returns the scripts that weft ships, sorted by tracer and name.
func Scripts() ([]Script, error) {
	entries, err := files.ReadDir("scripts")
	if err != nil {
		return nil, err
	}
	var scripts []Script
	for _, tracer := range Tracers() {
		for _, entry := range entries {
			name, ok := strings.CutSuffix(entry.Name(), tracer.Extension())
			if !ok {
				continue
			}
			text, err := files.ReadFile(path.Join("scripts", entry.Name()))
			if err != nil {
				return nil, err
			}
			scripts = append(scripts, Script{Name: name, Tracer: tracer, Text: string(text)})
		}
	}
	return scripts, nil
}

// ErrUnknownScript is wrapped in errors from FindScript for an unknown name.
var ErrUnknownScript = errors.New("unknown script")

// FindScript returns the shipped script with a name, with or without the extension. If the tracer is empty, only one tracer may have a
// script with that name.
func FindScript(tracer Tracer, name string) (*Script, error) {
	scripts, err := Scripts()
	if err != nil {
		return nil, err
	}
	var found []Script
	for _, s := range scripts {
		if (tracer == "" || s.Tracer == tracer) && (s.Name == name || s.File() == name) {
			found = append(found, s)
		}
	}
	switch len(found) {
	case 0:
		return nil, fmt.Errorf("%q: %w", name, ErrUnknownScript)
	case 1:
		return &found[0], nil
	}
	return nil, fmt.Errorf("%q is a script for several tracers; use %s or %s", name, found[0].File(), found[1].File())
}
