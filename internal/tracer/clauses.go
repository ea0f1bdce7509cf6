package tracer

import (
	"slices"
	"strings"
)

// programClause begins a clause for a static probe of the program that is the script's first parameter.
const programClause = "usdt:$1:"

// WithoutMissingProbes removes the clauses for static probes that a program does not have, given its probes (provider:name):
// bpftrace rejects a script if one of its probes is missing. It also returns the probes of the remaining and of the removed
// clauses. Clauses for several probes or for patterns are kept.
func (s *Script) WithoutMissingProbes(program []string) (script *Script, has, lacks []string) {
	var rest strings.Builder
	text := s.Text
	for {
		at := clauseStart(text)
		if at < 0 {
			rest.WriteString(text)
			break
		}
		rest.WriteString(text[:at])
		text = text[at:]
		end := clauseEnd(text)
		probe := strings.TrimPrefix(text[:strings.IndexAny(text+" ", " \t\n{/,")], programClause)
		if slices.Contains(program, probe) || strings.ContainsAny(probe, "*?[") || strings.Contains(text[:strings.IndexAny(text+"{", "{/")], ",") {
			has = append(has, probe)
			rest.WriteString(text[:end])
		} else {
			lacks = append(lacks, probe)
		}
		text = text[end:]
	}
	return &Script{Name: s.Name, Tracer: s.Tracer, Text: rest.String()}, has, lacks
}

// clauseStart returns the index of the next clause for a probe of the program, which is at the start of a line. It returns -1
// if there is no such clause.
func clauseStart(text string) int {
	if strings.HasPrefix(text, programClause) {
		return 0
	}
	at := strings.Index(text, "\n"+programClause)
	if at < 0 {
		return -1
	}
	return at + 1
}

// clauseEnd returns the length of the clause at the start of text: up to the closing brace of its body and the end of that
// line.
func clauseEnd(text string) int {
	depth := 0
	for i := 0; i < len(text); i++ {
		switch text[i] {
		case '"':
			for i++; i < len(text) && text[i] != '"'; i++ {
				if text[i] == '\\' {
					i++
				}
			}
		case '{':
			depth++
		case '}':
			if depth--; depth == 0 {
				if strings.HasPrefix(text[i+1:], "\n") {
					i++
				}
				return i + 1
			}
		}
	}
	return len(text)
}
