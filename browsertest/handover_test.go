package browsertest

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
)

// evilSite has the Stub answer for another site as well.
func evilSite(stub *Stub) string { return Resolve("evil.test:443", stub.address) }

// slowFetch has the page wait before each request, so that the UI can be gone when the trace is there.
const slowFetch = `{ const now = window.fetch; window.fetch = async (...what) => { await new Promise((done) => setTimeout(done, 2000)); return now(...what); }; } undefined`

// A site that takes the place of the UI in its tab gets nothing: neither if it says PONG itself, nor if the UI did before.
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
				stub.Await(t, "evil ping") // and it has said PONG
			}
			stub.Quiet(t, "evil got", 3*time.Second)
		})
	}
}

// In the page itself no other site can take the place of the UI: the policy of the page names the UI alone.
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

// slowBlobs is slowFetch for a page that has the trace as a Blob.
const slowBlobs = `{ const now = Blob.prototype.arrayBuffer; Blob.prototype.arrayBuffer = async function() { await new Promise((done) => setTimeout(done, 2000)); return now.call(this); }; } undefined`

// weft.html gives another site nothing either.
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

// The page asks the UI every 100 ms, and reports that it does not answer after 2 s and not before.
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

// A tab that never answers is named as well, with what helps.
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
