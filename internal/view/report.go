package view

import (
	"net/http"
	"strconv"
)

// A Report is a page about a trace, which the page shows beside the timeline. It has its style and its script in it, and may run and use
// only those.
type Report struct {
	HTML                  []byte
	ScriptHash, StyleHash string   // as a Content-Security-Policy names them: sha256-…
	Span                  Window   // of the trace: what the report asks to show must be in it
	Tracks                []string // the rows of its timeline, as the UI calls them
}

// Report sets the report of a trace.
func (t *Trace) Report(r Report) { t.update(func() { t.report = &r }) }

// Unreported records that there is no report.
func (t *Trace) Unreported() { t.update(func() { t.unreported = true }) }

// serveReport gives the report. It is framed by the page, without the rights of its origin (the attribute sandbox), and its policy lets
// it run what is in it and nothing else (rule 7).
func (t *Trace) serveReport(w http.ResponseWriter, _ *http.Request) {
	t.server.mu.Lock()
	report := t.report
	t.server.mu.Unlock()
	if report == nil {
		w.WriteHeader(http.StatusNotFound)
		return
	}
	w.Header().Set("Content-Security-Policy", report.policy())
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.Header().Set("Content-Length", strconv.Itoa(len(report.HTML)))
	w.Write(report.HTML)
}

// policy returns the policy of a report. It does not name what is in HTML: otherwise a script that got into it would be allowed.
func (r *Report) policy() string {
	return "default-src 'none'; script-src '" + r.ScriptHash + "'; style-src '" + r.StyleHash + "'; img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'self'"
}
