package view

import (
	"net/http"
	"strconv"
)

// A Report is a page about a trace, which the main page shows beside the timeline. Its style and script are inline, and it
// may use no others.
type Report struct {
	HTML                  []byte
	ScriptHash, StyleHash string   // in the form of a Content-Security-Policy: sha256-…
	Span                  Window   // of the trace; the report can ask to show only times in it
	Tracks                []string // the rows of its timeline, by their names in the UI
}

// Report sets the report of a trace.
func (t *Trace) Report(r Report) { t.update(func() { t.report = &r }) }

// Unreported records that there is no report.
func (t *Trace) Unreported() { t.update(func() { t.unreported = true }) }

// serveReport serves the report. The page frames it without the rights of its origin (the sandbox attribute), and its policy
// lets it run only its own script (rule 7).
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

// policy returns the policy of a report. The hashes in it are not computed from HTML: otherwise a script injected there would
// be allowed.
func (r *Report) policy() string {
	return "default-src 'none'; script-src '" + r.ScriptHash + "'; style-src '" + r.StyleHash + "'; img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'self'"
}
