package browsertest

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
)

// evilSite returns a rule by which the Stub also serves another site.
func evilSite(stub *Stub) string { return Resolve("evil.test:443", stub.address) }

// slowFetch delays each request of the page, so that the UI can be gone when the trace arrives.
const slowFetch = `{ const now = window.fetch; window.fetch = async (...what) => { await new Promise((done) => setTimeout(done, 2000)); return now(...what); }; } undefined`

// A site that replaces the UI in its tab gets nothing, whether it sends PONG itself or the UI did before.
func TestHandoverToAnotherSite(t *testing.T) {
	for _, mode := range []string{Leaves, AnswersAndLeaves} {
		t.Run(mode, func(t *testing.T) {
			stub, dir := NewStub(t), t.TempDir()
			b := Start(t, stub, evilSite(stub))
			put(t, dir, "trace.json.gz", recording)
			w := Run(t, dir, "view", "--from", "100ms", "--to", "200ms", "trace.json.gz")
			p := b.Open(w.Address())
			stub.Await(t, "trace")
			p.Await(`!document.getElementById("open").hidden`)
			Eval[chromedp.Void](p, slowFetch)
			stub.Behave(mode)
			p.Click("#open")
			stub.Await(t, "evil")
			if mode == Leaves {
				stub.Await(t, "evil ping") // it has also sent PONG
			}
			stub.Quiet(t, "evil got", 3*time.Second)
		})
	}
}

// No other site can replace the UI in the page itself, because the page's policy only allows the UI.
func TestFrameCannotLeave(t *testing.T) {
	stub, dir := NewStub(t), t.TempDir()
	b := Start(t, stub, evilSite(stub))
	stub.Behave(Leaves)
	put(t, dir, "trace.json.gz", recording)
	w := Run(t, dir, "view", "trace.json.gz")
	p := b.Open(w.Address())
	stub.Await(t, "start")
	p.Await(`violations.some((v) => v.startsWith("frame-src https://evil.test"))`)
	stub.Quiet(t, "evil", time.Second)
}

// slowBlobs is like slowFetch, for a page that has the trace as a Blob.
const slowBlobs = `{ const now = Blob.prototype.arrayBuffer; Blob.prototype.arrayBuffer = async function() { await new Promise((done) => setTimeout(done, 2000)); return now.call(this); }; } undefined`

// weft.html gives nothing to another site, either.
func TestWebHandoverToAnotherSite(t *testing.T) {
	stub, dir := NewStub(t), t.TempDir()
	b := Start(t, stub, evilSite(stub))
	put(t, dir, "trace.json.gz", recording)
	for _, mode := range []string{Leaves, AnswersAndLeaves} {
		t.Run(mode, func(t *testing.T) {
			p := openWeb(t, b)
			choose(p, filepath.Join(dir, "trace.json.gz"))
			Eval[chromedp.Void](p, slowBlobs)
			stub.Behave(mode)
			p.Click("#perfetto")
			stub.Await(t, "evil")
			stub.Quiet(t, "evil got", 3*time.Second)
		})
	}
}

// The page sends a PING every 100 ms and reports a missing answer after 2 s, not earlier.
func TestPatience(t *testing.T) {
	stub, dir := NewStub(t), t.TempDir()
	b := Start(t, stub)
	stub.Behave(Counts)
	put(t, dir, "trace.json.gz", recording)
	w := Run(t, dir, "view", "trace.json.gz")
	p := b.Open(w.Address())
	noticed := Eval[float64](p, `new Promise((done) => {
		const look = setInterval(() => {
			if (document.getElementById("notice").hidden) return;
			clearInterval(look);
			done(performance.now() - performance.getEntriesByType("resource").find((r) => r.name.startsWith("https://ui.perfetto.dev/")).startTime);
		}, 10);
	})`)
	if noticed < 1900 || noticed > 6000 {
		t.Errorf("says that the UI does not answer after %.0f ms", noticed)
	}
	if said := Eval[string](p, `document.getElementById("said").textContent`); !strings.HasPrefix(said, "Perfetto has not loaded: ") {
		t.Errorf("says %q", said)
	}
	times := stub.Await(t, "pings").Times
	between := make([]float64, 0, len(times))
	for i := range len(times) - 1 {
		between = append(between, times[i+1]-times[i])
	}
	slices.Sort(between)
	if median := between[len(between)/2]; median < 80 || median > 150 {
		t.Errorf("PINGs come after %.0f ms", between)
	}
}

// The page also reports a tab that never answers, and offers remedies.
func TestTabThatNeverAnswers(t *testing.T) {
	stub, dir := NewStub(t), t.TempDir()
	b := Start(t, stub)
	put(t, dir, "trace.json.gz", recording)
	w := Run(t, dir, "view", "trace.json.gz")
	p := b.Open(w.Address())
	stub.Await(t, "trace")
	p.Await(`!document.getElementById("open").hidden`)
	stub.Behave(Silent)
	p.Click("#open")
	p.Await(`document.getElementById("said").textContent.includes("either answer is fine")`)
	p.Await(`document.getElementById("notice").innerText.replace(/\s+/g, " ").trim() ===
		"Perfetto does not answer in its tab. It may be asking you something there, or the network is down: Download Open in a tab"`)
	p.Calm()
}
