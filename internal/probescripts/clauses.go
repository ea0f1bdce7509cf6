package probescripts

import (
	"slices"
	"strings"
)

// programClause begins a clause for a static probe of the program that the script is given.
const programClause = "usdt:$1:"

// Without returns a script without its clauses for static probes of the program that has only the given ones
// (provider:name): bpftrace refuses a script if one of its probes is missing. It also returns the probes of the clauses
// that are left and of those that are not. A clause for several probes, or for patterns, stays.
func (s *Script) Without(program []string) (script *Script, has, lacks []string) {
	var kept strings.Builder
	text := s.Text
	for {
		at := clauseStart(text)
		if at < 0 {
			kept.WriteString(text)
			break
		}
		kept.WriteString(text[:at])
		text = text[at:]
		end := clauseEnd(text)
		probe := strings.TrimPrefix(text[:strings.IndexAny(text+" ", " \t\n{/,")], programClause)
		if slices.Contains(program, probe) || strings.ContainsAny(probe, "*?[") || strings.Contains(text[:strings.IndexAny(text+"{", "{/")], ",") {
			has = append(has, probe)
			kept.WriteString(text[:end])
		} else {
			lacks = append(lacks, probe)
		}
		text = text[end:]
	}
	return &Script{Name: s.Name, Tracer: s.Tracer, Text: kept.String()}, has, lacks
}

// clauseStart returns where the next clause for a probe of the program begins, at the start of a line, or -1.
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

// clauseEnd returns the length of the clause that text begins with: up to the brace that closes its body, and the end of
// that line.
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
