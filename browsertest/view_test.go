package browsertest

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/browser"
	"github.com/chromedp/chromedp"
)

const recording = "../testdata/traces/chrome/chrome-devtools-tiny.json.gz"

// settled329 is true when the UI has the trace of recording and the bar shows no status.
const settled329 = `document.getElementById("bar").classList.contains("settled") && document.getElementById("status").textContent === "" &&
	document.getElementById("download").title === "The trace for Perfetto, 329 KiB"`

// put copies a recording into a folder under a name, and returns the size and digest of weft's conversion.
func put(t *testing.T, dir, name, from string) (want Report) {
	t.Helper()
	content, err := os.ReadFile(from)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, name), content, 0o644); err != nil {
		t.Fatal(err)
	}
	out := filepath.Join(t.TempDir(), "want.pftrace")
	cmd := exec.Command(program(t), "convert", "--quiet", "--compress", "none", "-o", out, "--", name)
	cmd.Dir = dir
	if text, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	trace, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256(trace)
	return Report{Bytes: int64(len(trace)), SHA256: hex.EncodeToString(sum[:])}
}

// wantTrace checks that the UI got the wanted bytes under a title, without asking the user.
func wantTrace(t *testing.T, got, want Report, title string) {
	t.Helper()
	if got.Bytes != want.Bytes || got.SHA256 != want.SHA256 || got.Title != title || got.FileName != title || got.Asked || !got.LocalOnly || !got.KeepAPIOpen || got.URL != "" {
		t.Errorf("the UI got %+v, want %d bytes %s as %s", got, want.Bytes, want.SHA256, title)
	}
}

// One command, without gestures or questions, gives the UI in the page exactly the bytes of the trace. Only the page and the UI
// were requested, and the UI did not connect to this machine.
func TestHandover(t *testing.T) {
	stub, dir := NewStub(t), t.TempDir()
	b := Start(t, stub)
	want := put(t, dir, "trace.json.gz", recording)
	processor := listen(t, "127.0.0.1:9001")
	w := Run(t, dir, "view", "--once", "trace.json.gz")
	address := w.Address()
	p := b.Open(address)
	start := stub.Await(t, "start")
	if !strings.HasPrefix(start.Href, "https://ui.perfetto.dev/#!/?mode=embedded&") || !start.Framed {
		t.Errorf("the UI is %+v", start)
	}
	got := stub.Await(t, "trace")
	wantTrace(t, got, want, "trace.json.gz")
	if got.Origin != strings.TrimSuffix(origin(t, address), "/") {
		t.Errorf("the origin is %s", got.Origin)
	}
	if code := w.Code(); code != 0 {
		t.Errorf("exit code %d", code)
	}
	p.Await(`document.getElementById("status").textContent === "weft view has ended"`)
	for _, request := range p.Requests() {
		if !strings.HasPrefix(request, "GET "+address) && request != "POST "+address+"opened" && request != "GET https://ui.perfetto.dev/" {
			t.Errorf("the page asked %s", request)
		}
	}
	if heard := processor.heard(); len(heard) > 0 {
		t.Errorf("the UI asked port 9001: %q", heard)
	}
	if n := Eval[int](p, `document.querySelectorAll("#stage iframe").length`); n != 1 {
		t.Errorf("the timeline did not stay: %d frames", n)
	}
	p.Calm()
}

// origin returns the origin of an address.
func origin(t *testing.T, address string) string {
	t.Helper()
	u, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	return u.Scheme + "://" + u.Host
}

// The UI answers each pending PING, but the trace is posted only once.
func TestSeveralPongs(t *testing.T) {
	stub, dir := NewStub(t), t.TempDir()
	b := Start(t, stub)
	stub.Behave(Busy)
	want := put(t, dir, "trace.json.gz", recording)
	w := Run(t, dir, "view", "trace.json.gz")
	p := b.Open(w.Address())
	wantTrace(t, stub.Await(t, "trace"), want, "trace.json.gz")
	stub.Quiet(t, "trace", time.Second)
	if n := Eval[int](p, `posted.filter((text) => text === "PONG").length`); n < 2 {
		t.Errorf("%d PONGs came; the case needs several", n)
	}
	p.Calm()
}

// The page opens before the trace is converted, and shows progress. It loads the UI, with the initial view in its link, when the
// trace is ready.
func TestProgress(t *testing.T) {
	stub, dir := NewStub(t), t.TempDir()
	b := Start(t, stub)
	want := put(t, dir, "trace.json.gz", recording)
	content, err := os.ReadFile(filepath.Join(dir, "trace.json.gz"))
	if err != nil {
		t.Fatal(err)
	}
	in, out, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	w := RunWith(t, dir, in, nil, "view", "-")
	in.Close()
	if _, err := out.Write(content[:len(content)/2]); err != nil {
		t.Fatal(err)
	}
	p := b.Open(w.Address())
	p.Await(`/^reading [0-9.]+ KiB/.test(document.getElementById("status").textContent)`)
	stub.Quiet(t, "trace", 300*time.Millisecond)
	if _, err := out.Write(content[len(content)/2:]); err != nil {
		t.Fatal(err)
	}
	out.Close()
	wantTrace(t, stub.Await(t, "trace"), want, "standard input")
	p.Await(settled329)
	p.Calm()
}

// A click opens a tab, which gets the same bytes. Its link is empty, because the UI sends it to others: a message specifies the
// initial view, which the frame has in its link.
func TestTab(t *testing.T) {
	stub, dir := NewStub(t), t.TempDir()
	b := Start(t, stub)
	want := put(t, dir, "trace.json.gz", recording)
	w := Run(t, dir, "view", "--from", "100ms", "--to", "200ms", "--pin", "Main", "trace.json.gz")
	p := b.Open(w.Address())
	start := stub.Await(t, "start")
	if start.Args["mode"] != "embedded" || start.Args["visStart"] == "" || !strings.HasSuffix(start.Args["startupCommands"], `{"id":"dev.perfetto.PinTracksByRegex","args":["Main","name"]}]`) {
		t.Errorf("the link of the frame has %q", start.Args)
	}
	stub.Await(t, "trace")
	p.Await(`!document.getElementById("open").hidden`)
	p.Click("#open")
	start = stub.Await(t, "start")
	if start.Href != "https://ui.perfetto.dev/" || start.Framed {
		t.Errorf("the tab is %+v", start)
	}
	p.Await(`document.getElementById("said").textContent.includes("either answer is fine")`)
	wantTrace(t, stub.Await(t, "trace"), want, "trace.json.gz")
	scroll := stub.Await(t, "scroll")
	if length := scroll.TimeEnd - scroll.TimeStart; length < 0.0999 || length > 0.1001 {
		t.Errorf("scrolls to %v", scroll)
	}
	p.Await(`document.getElementById("notice").hidden`)
	p.Calm()
}

// If the browser blocks the tab, the page reports that. A headless browser never does, so the test replaces window.open.
func TestTabBlocked(t *testing.T) {
	stub, dir := NewStub(t), t.TempDir()
	b := Start(t, stub)
	put(t, dir, "trace.json.gz", recording)
	w := Run(t, dir, "view", "trace.json.gz")
	p := b.Open(w.Address())
	stub.Await(t, "trace")
	p.Await(`!document.getElementById("open").hidden`)
	Eval[chromedp.Void](p, `window.open = () => null; undefined`)
	p.Click("#open")
	p.Await(`document.getElementById("said").textContent.startsWith("The browser has blocked the tab.")`)
	p.Calm()
}

// needsDirectPort skips a test if another program uses the port of --direct.
func needsDirectPort(t *testing.T) {
	t.Helper()
	l, err := net.Listen("tcp4", "127.0.0.1:9001")
	if err != nil {
		t.Skipf("%v: end the program that has port 9001", err)
	}
	l.Close()
}

// With --direct, the UI fetches the trace if the user allows it.
func TestDirectGranted(t *testing.T) {
	needsDirectPort(t)
	stub, dir := NewStub(t), t.TempDir()
	b := Start(t, stub)
	b.Allow(browser.PermissionSettingGranted)
	want := put(t, dir, "secret-name.json.gz", recording)
	w := Run(t, dir, "view", "--direct", "--once", "secret-name.json.gz")
	link := w.Address()
	p := b.Open(link)
	start, status, got := stub.Await(t, "start"), stub.Await(t, "status"), stub.Await(t, "fetched")
	if strings.Contains(start.Href, "secret-name") || start.Framed {
		t.Errorf("the link is %s", start.Href)
	}
	if status.Answered {
		t.Error("the UI takes weft for a trace processor")
	}
	if got.Bytes != want.Bytes || got.SHA256 != want.SHA256 || got.FileName != "trace.pftrace" || got.Error != "" {
		t.Errorf("the UI fetched %+v, want %+v", got, want)
	}
	if code := w.Code(); code != 0 {
		t.Errorf("exit code %d", code)
	}
	p.Calm("/status")
}

// With --direct, if the user denies permission, no request reaches weft, which keeps waiting.
func TestDirectDenied(t *testing.T) {
	needsDirectPort(t)
	stub, dir := NewStub(t), t.TempDir()
	b := Start(t, stub)
	b.Allow(browser.PermissionSettingDenied)
	put(t, dir, "trace.json.gz", recording)
	w := Run(t, dir, "view", "--direct", "--once", "trace.json.gz")
	b.Open(w.Address())
	if got := stub.Await(t, "fetched"); got.Error == "" || got.Bytes != 0 {
		t.Errorf("the UI fetched %+v", got)
	}
	select {
	case <-w.ended:
		t.Fatal("weft takes the trace for handed over")
	case <-time.After(300 * time.Millisecond):
	}
	w.Interrupt()
	if code := w.Code(); code != 130 {
		t.Errorf("exit code %d", code)
	}
}

// Only --direct needs port 9001, and the error names a program that may be using it.
func TestDirectPortInUse(t *testing.T) {
	executable(t)
	dir := t.TempDir()
	put(t, dir, "trace.json.gz", recording)
	listen(t, "127.0.0.1:9001")
	w := Run(t, dir, "view", "--direct", "trace.json.gz")
	w.Await(`^weft: port 9001 is in use, perhaps by trace_processor_shell; without --direct no port is needed$`)
	if code := w.Code(); code != 1 {
		t.Errorf("exit code %d", code)
	}
}

// A site whose name resolves to this machine gets nothing, even with the secret. Neither does a page of another site that fetches
// or frames weft's page.
func TestOtherSites(t *testing.T) {
	stub, dir := NewStub(t), t.TempDir()
	put(t, dir, "trace.json.gz", recording)
	w := Run(t, dir, "view", "trace.json.gz")
	address := w.Address()
	u, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	b := Start(t, stub, Resolve("evil.test", "127.0.0.1"))
	rebound := b.Open(fmt.Sprintf("http://evil.test:%s%s", u.Port(), u.Path))
	if status := refusedWith(t, rebound); status != "403" {
		t.Errorf("a rebound name gets %s", status)
	}
	// Another origin on this machine, such as another user's program could serve.
	foreign := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		io.WriteString(w, "<!doctype html><body>")
	}))
	defer foreign.Close()
	other := b.Open(foreign.URL)
	for what, code := range map[string]string{
		"fetches":          `fetch("` + address + `trace/0").then((a) => "read " + a.status, () => "refused")`,
		"fetches no-cors":  `fetch("` + address + `trace/0", {mode: "no-cors"}).then((a) => a.type + " " + a.status, () => "refused")`,
		"says handed over": `fetch("` + address + `opened", {method: "POST", body: "0"}).then((a) => "read " + a.status, () => "refused")`,
		"loads a script":   `new Promise((done) => { const s = document.createElement("script"); s.src = "` + address + `"; s.onload = () => done("loaded"); s.onerror = () => done("refused"); document.head.append(s); })`,
	} {
		if got := Eval[string](other, code); got != "refused" {
			t.Errorf("another origin %s: %s", what, got)
		}
	}
	Eval[chromedp.Void](other, `{ const f = document.createElement("iframe"); f.src = "`+address+`"; document.body.append(f); }`)
	stub.Quiet(t, "start", 700*time.Millisecond) // the page would have started the UI
}

// refusedWith returns the status of a response without content, for which the browser shows its own page.
func refusedWith(t *testing.T, p *Page) string {
	t.Helper()
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); time.Sleep(10 * time.Millisecond) {
		for _, line := range p.Console() {
			if _, status, ok := strings.Cut(line, "the server responded with a status of "); ok {
				return status[:3]
			}
		}
	}
	t.Fatal("the page was not refused")
	return ""
}

// Neither a wrong secret nor a used one-time address leads anywhere.
func TestWrongAddresses(t *testing.T) {
	stub, dir := NewStub(t), t.TempDir()
	b := Start(t, stub)
	put(t, dir, "trace.json.gz", recording)
	browserProgram, called := filepath.Join(dir, "browser"), filepath.Join(dir, "called")
	if err := os.WriteFile(browserProgram, []byte("#!/bin/sh\necho \"$1\" >"+called+".new; mv "+called+".new "+called), 0o755); err != nil {
		t.Fatal(err)
	}
	w := RunWith(t, dir, nil, []string{"BROWSER=" + browserProgram}, "view", "trace.json.gz")
	address := w.Address()
	var once string
	for deadline := time.Now().Add(patience); once == "" && time.Now().Before(deadline); time.Sleep(10 * time.Millisecond) {
		text, _ := os.ReadFile(called)
		once = strings.TrimSpace(string(text))
	}
	file, ok := strings.CutPrefix(once, "file://")
	leads, err := os.ReadFile(file)
	if !ok || err != nil {
		t.Fatalf("the browser is called with %q, %v", once, err)
	}
	p := b.Open(once)
	p.Await(`location.protocol === "http:"`)
	_, once, _ = strings.Cut(string(leads), "; url=")
	once, _, _ = strings.Cut(once, `"`)
	if got := Eval[string](p, "location.href"); got != address {
		t.Errorf("it leads to %s, want %s", got, address)
	}
	stub.Await(t, "trace")
	last := map[bool]string{true: "Q", false: "A"}[strings.HasSuffix(address, "A/")] // any character but the one in the secret
	for _, other := range []string{once, origin(t, address) + "/", address[:len(address)-2] + last + "/", origin(t, address) + "/status"} {
		if status := refusedWith(t, b.Open(other)); status != "404" {
			t.Errorf("%s gets %s", other, status)
		}
	}
}

// If the UI never answers, the page explains what may be wrong, offers remedies, and keeps asking.
func TestUIThatNeverAnswers(t *testing.T) {
	stub, dir := NewStub(t), t.TempDir()
	b := Start(t, stub)
	stub.Behave(Silent)
	want := put(t, dir, "trace.json.gz", recording)
	w := Run(t, dir, "view", "trace.json.gz")
	p := b.Open(w.Address(), Look(1000, 500, false)...)
	stub.Await(t, "start")
	says := func(want string) {
		t.Helper()
		p.Await(`document.getElementById("notice").innerText.replace(/\s+/g, " ").trim() === "` + want + `"`)
	}
	says("Perfetto has not loaded: ui.perfetto.dev does not answer. The report needs no network. For timelines without a network: weft view --ui FOLDER. Try again")
	b.Frame(p, "/report/0").Await(`document.querySelector("h1") !== null`)
	p.Screenshot("silent-report")
	p.Click("#show-timeline")
	says("Perfetto has not loaded: it may be asking you something below, or ui.perfetto.dev does not answer. For timelines without a network: weft view --ui FOLDER. Download Try again Open in a tab")
	p.Screenshot("silent")
	if got := Eval[string](p, `document.getElementById("notice-download").download`); got != "trace.json.gz.pftrace" {
		t.Errorf("downloads %s", got)
	}
	stub.Behave(Answers)
	p.Click("#again")
	wantTrace(t, stub.Await(t, "trace"), want, "trace.json.gz")
	p.Await(`document.getElementById("notice").hidden`)
	p.Calm()
}

// A UI that answers late still gets the trace.
func TestUIThatAnswersLate(t *testing.T) {
	stub, dir := NewStub(t), t.TempDir()
	b := Start(t, stub)
	stub.Behave(Late)
	want := put(t, dir, "trace.json.gz", recording)
	w := Run(t, dir, "view", "trace.json.gz")
	p := b.Open(w.Address())
	p.Await(`document.getElementById("said").textContent.startsWith("Perfetto has not loaded: ")`)
	wantTrace(t, stub.Await(t, "trace"), want, "trace.json.gz")
	p.Await(`document.getElementById("notice").hidden`)
	p.Calm()
}

// For several files, the bar has a list, and each file opens in a new frame.
func TestTwoFiles(t *testing.T) {
	stub, dir := NewStub(t), t.TempDir()
	b := Start(t, stub)
	first := put(t, dir, "first.json.gz", recording)
	second := put(t, dir, "second.json.gz", "../testdata/traces/chrome/chrome-array-tiny.json.gz")
	w := Run(t, dir, "view", "first.json.gz", "second.json.gz", recordingThatIsNone(t, dir))
	p := b.Open(w.Address(), Look(1000, 500, false)...)
	wantTrace(t, stub.Await(t, "trace"), first, "first.json.gz")
	p.Await(`[...document.getElementById("list").options].map((o) => o.text).join() === "first.json.gz,second.json.gz,none.json – failed"`)
	p.Screenshot("list")
	Eval[chromedp.Void](p, `window.before = document.querySelector("#stage iframe"); undefined`)
	choose := func(n int) {
		Eval[chromedp.Void](p, fmt.Sprintf(`{ const l = document.getElementById("list"); l.value = "%d"; l.dispatchEvent(new Event("change")); }`, n))
	}
	choose(1)
	wantTrace(t, stub.Await(t, "trace"), second, "second.json.gz")
	if Eval[bool](p, `document.querySelector("#stage iframe") === window.before`) {
		t.Error("the frame is the same")
	}
	choose(2)
	p.Await(`document.getElementById("said").textContent.startsWith("none.json: ")`)
	p.Screenshot("failed")
	if n := Eval[int](p, `document.querySelectorAll("#stage iframe").length`); n != 0 {
		t.Errorf("%d frames of what failed", n)
	}
	choose(0)
	wantTrace(t, stub.Await(t, "trace"), first, "first.json.gz")
	w.Interrupt()
	if code := w.Code(); code != 1 {
		t.Errorf("exit code %d", code)
	}
	p.Calm("ERR_") // from the connection that ends
}

func recordingThatIsNone(t *testing.T, dir string) string {
	t.Helper()
	if err := os.WriteFile(filepath.Join(dir, "none.json"), []byte("<script>alert(1)</script>"), 0o644); err != nil {
		t.Fatal(err)
	}
	return "none.json"
}

// Ctrl-C ends weft and keeps the timeline; the page reports the end. If Perfetto does not have the trace yet, that is a failure.
func TestEnds(t *testing.T) {
	stub, dir := NewStub(t), t.TempDir()
	b := Start(t, stub)
	put(t, dir, "trace.json.gz", recording)
	w := Run(t, dir, "view", "trace.json.gz")
	address := w.Address()
	p := b.Open(address)
	stub.Await(t, "trace")
	w.Interrupt()
	if code := w.Code(); code != 0 {
		t.Errorf("exit code %d", code)
	}
	p.Await(`document.getElementById("status").textContent === "weft view has ended" && document.getElementById("download").hidden && document.getElementById("open").hidden`)
	if n := Eval[int](p, `document.querySelectorAll("#stage iframe").length`); n != 1 {
		t.Errorf("%d frames", n)
	}
	p.Calm()
	if c, err := net.Dial("tcp4", strings.TrimPrefix(origin(t, address), "http://")); err == nil {
		c.Close()
		t.Error("something still listens")
	}

	stub.Behave(Silent)
	w = Run(t, dir, "view", "--once", "trace.json.gz")
	p = b.Open(w.Address())
	stub.Await(t, "start")
	w.Interrupt()
	if code := w.Code(); code != 130 {
		t.Errorf("exit code %d", code)
	}
	p.Await(`document.getElementById("said").textContent === "weft view has ended before Perfetto had the trace. Start it again."`)
	p.Calm()
}

// Names are shown as text, whatever they contain.
func TestNames(t *testing.T) {
	stub, dir := NewStub(t), t.TempDir()
	b := Start(t, stub)
	for _, name := range []string{
		`<img src=x onerror=alert(1)>.json.gz`, "\u202egnp.\u2066x.json.gz", "a\nb\x1b[31m\x07.json.gz", `<\script>"';--&amp;.json.gz`, "--pin.json.gz", "名前 ü.json.gz",
		strings.Repeat("long", 60) + ".json.gz",
	} {
		want := put(t, dir, name, recording)
		w := Run(t, dir, "view", "--once", "--", name)
		p := b.Open(w.Address(), Look(400, 300, true)...)
		got := stub.Await(t, "trace")
		if got.SHA256 != want.SHA256 {
			t.Errorf("%q: other bytes", name)
		}
		shown := Eval[string](p, `document.getElementById("only").textContent`)
		if shown != strings.NewReplacer("\n", `\n`, "\x1b", `\x1b`, "\x07", `\a`, "\u202e", `\u202e`, "\u2066", `\u2066`).Replace(name) {
			t.Errorf("%q is shown as %q", name, shown)
		}
		if wide := Eval[bool](p, "document.documentElement.scrollWidth > innerWidth"); wide {
			t.Errorf("%q makes the page wider than the window", name)
		}
		p.Calm()
		w.Code()
	}
}

// A UI from local files is served from a second origin on this machine. It can run its scripts, but connect to no other origin.
func TestOwnUI(t *testing.T) {
	stub, dir := NewStub(t), t.TempDir()
	b := Start(t, stub)
	want := put(t, dir, "trace.json.gz", recording)
	ui := filepath.Join(dir, "ui")
	if err := os.Mkdir(ui, 0o755); err != nil {
		t.Fatal(err)
	}
	const page = `<!doctype html><title>own</title><script>
window.inline = true; window.tried = [];
document.addEventListener("securitypolicyviolation", (v) => window.tried.push(v.blockedURI));
addEventListener("message", async (e) => {
  if (e.data === "PING") { e.source.postMessage("PONG", "*"); return; }
  if (!e.data.perfetto?.buffer) return;
  for (const url of ["https://www.google-analytics.com/g", "https://storage.cloud.google.com/x", "http://127.0.0.1:9001/status", "https://ui.perfetto.dev/x"]) await fetch(url).catch(() => {});
  await new Promise((done) => setTimeout(done, 100)); // violations are told later
  const sum = [...new Uint8Array(await crypto.subtle.digest("SHA-256", e.data.perfetto.buffer))].map((b) => b.toString(16).padStart(2, "0")).join("");
  parent.postMessage(sum + " " + window.tried.length + " " + window.other, "*");
});
</script><script src="other.js"></script>`
	for name, text := range map[string]string{"index.html": page, "other.js": "window.other = 1;"} {
		if err := os.WriteFile(filepath.Join(ui, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	processor := listen(t, "127.0.0.1:9001")
	w := Run(t, dir, "view", "--ui", "ui", "trace.json.gz")
	p := b.Open(w.Address())
	p.Await(settled329)
	p.Await(`posted.some((text) => text !== "PONG")`)
	if got := Eval[string](p, `posted.find((text) => text !== "PONG")`); got != want.SHA256+" 4 1" {
		t.Errorf("the own UI says %q, want %s 4 1", got, want.SHA256)
	}
	if heard := processor.heard(); len(heard) > 0 {
		t.Errorf("it asked port 9001: %q", heard)
	}
}

// The report is shown first, without the page's rights. A row in it shows its slice and track in the timeline; messages that no
// row could send are ignored.
func TestReport(t *testing.T) {
	stub, dir := NewStub(t), t.TempDir()
	b := Start(t, stub)
	put(t, dir, "trace.json.gz", "../testdata/traces/chrome/chrome-memory-infra.json.gz")
	w := Run(t, dir, "view", "trace.json.gz")
	p := b.Open(w.Address(), Look(1280, 700, false)...)
	first := stub.Await(t, "start").Args
	stub.Await(t, "trace")
	p.Await(`document.getElementById("stage").hidden && document.querySelector("#report iframe").getAttribute("sandbox") === "allow-scripts"`)
	r := b.Frame(p, "/report/0")
	r.Await(`document.querySelectorAll("tr button.show").length > 0`)
	if origin := Eval[string](r, "self.origin"); origin != "null" {
		t.Errorf("the report has the origin %s", origin)
	}
	p.Screenshot("report-wide")
	const row = `[...document.querySelectorAll("tr[data-at] button.show")].find((b) => b.closest("tr").dataset.at.split(" ").length === 3)` // on a thread
	Eval[chromedp.Void](r, row+`.click()`)
	start := stub.Await(t, "start")
	from, length, _ := strings.Cut(Eval[string](r, row+`.closest("tr").dataset.at`), " ")
	length, _, _ = strings.Cut(length, " ")
	if start.Args["ts"] != from || start.Args["dur"] != length {
		t.Errorf("selects %q, asked for %s and %s", start.Args, from, length)
	}
	number := func(text string) int64 {
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	if number(start.Args["visStart"]) > number(from) || number(start.Args["visEnd"]) < number(from)+number(length) {
		t.Errorf("shows %q", start.Args)
	}
	name := regexp.QuoteMeta(Eval[string](r, `JSON.parse(document.getElementById("data").textContent).chart.rows[`+row+`.closest("tr").dataset.at.split(" ")[2] - 1].name.split(" ")[0]`))
	pin := regexp.MustCompile(`,\{"id":"dev.perfetto.PinTracksByRegex","args":\["\^` + name + ` \d+\$","name"\]\}\]$`)
	if !pin.MatchString(start.Args["startupCommands"]) || !strings.Contains(start.Args["startupCommands"], `(Long tasks|Context: .*)`) { // which the first link contains
		t.Errorf("pins %s, not %s after those of %s", start.Args["startupCommands"], pin, first["startupCommands"])
	}
	stub.Await(t, "trace")
	p.Await(`!document.getElementById("stage").hidden && document.getElementById("report").hidden`)

	p.Click("#show-report")
	for _, message := range []string{
		`{}`, `null`, `"PONG"`, `{weft: null}`, `{weft: "NaN 0"}`, `{weft: "FROM Infinity"}`, `{weft: ["FROM 0"]}`, `{weft: "FROM.5 0"}`, `{weft: "FROM -1"}`, `{weft: "0 0"}`,
		`{weft: "FROM 1000000000000000000"}`, `{weft: "FROM 0 1 1"}`, `{weft: "FROM"}`, `{weft: {from_ns: FROM, dur_ns: 0}}`, `{perfetto: {timeStart: 1, timeEnd: 2}}`,
	} {
		Eval[chromedp.Void](r, `parent.postMessage(`+strings.ReplaceAll(message, "FROM", from)+`, "*")`)
	}
	// Messages from others are ignored, too.
	Eval[chromedp.Void](p, `window.postMessage({weft: "`+from+` 0"}, "*")`)
	Eval[chromedp.Void](p, `window.dispatchEvent(new MessageEvent("message", {data: {weft: "`+from+` 0"}, origin: "https://evil.test",
		source: document.querySelector("#report iframe").contentWindow})); undefined`)
	stub.Quiet(t, "start", 500*time.Millisecond)
	if Eval[bool](p, `document.getElementById("report").hidden`) {
		t.Error("one of the messages led to the timeline")
	}
	for what, code := range map[string]string{
		"reads the trace": `fetch("` + w.address + `trace/0").then(() => "done", () => "refused")`,
		"reads the page":  `Promise.resolve().then(() => parent.document.title).then(() => "done", () => "refused")`,
		"asks others":     `fetch("https://ui.perfetto.dev/x").then(() => "done", () => "refused")`,
		"opens a window":  `Promise.resolve(window.open("https://ui.perfetto.dev/") === null ? "refused" : "done")`,
	} {
		if got := Eval[string](r, code); got != "refused" {
			t.Errorf("the report %s", what)
		}
	}
	p.Click("#show-timeline")
	p.Await(`!document.getElementById("stage").hidden`)
	if len(Eval[[]string](p, "window.violations")) > 0 {
		t.Error("the page broke its policy")
	}
}

// The report on a trace does not wait for the conversion of other traces.
func TestReportBeforeAllAreConverted(t *testing.T) {
	stub, dir := NewStub(t), t.TempDir()
	b := Start(t, stub)
	put(t, dir, "trace.json.gz", recording)
	in, out, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close() // nothing is ever written to it
	w := RunWith(t, dir, in, nil, "view", "trace.json.gz", "-")
	in.Close()
	p := b.Open(w.Address())
	stub.Await(t, "trace")
	p.Await(`!document.getElementById("tabs").hidden`)
	w.Interrupt()
	if code := w.Code(); code != 130 { // a conversion was running
		t.Errorf("exit code %d", code)
	}
}

// Opens the page in common window sizes and themes, and saves screenshots. The page never scrolls sideways and offers all of its
// actions.
func TestLooks(t *testing.T) {
	stub, dir := NewStub(t), t.TempDir()
	b := Start(t, stub)
	put(t, dir, "chrome-devtools-medium.json.gz", recording)
	w := Run(t, dir, "view", "chrome-devtools-medium.json.gz")
	address := w.Address()
	for name, look := range map[string][]chromedp.Action[chromedp.Void]{
		"wide-light": Look(1280, 600, false), "wide-dark": Look(1280, 600, true), "narrow-light": Look(400, 600, false), "narrow-dark": Look(400, 600, true),
	} {
		p := b.Open(address, look...)
		stub.Await(t, "trace")
		p.Await(settled329 + ` && !document.getElementById("tabs").hidden`)
		if Eval[bool](p, "document.documentElement.scrollWidth > innerWidth") {
			t.Errorf("%s: wider than the window", name)
		}
		if height := Eval[float64](p, `document.getElementById("bar").getBoundingClientRect().height`); height != 40 {
			t.Errorf("%s: the bar is %v high", name, height)
		}
		names := Eval[[]string](p, `[...document.querySelectorAll("#actions .action")].map((a) => a.innerText.trim() || a.textContent.trim())`)
		if !slices.Equal(names, []string{"Download", "Open in a tab"}) {
			t.Errorf("%s: actions %q", name, names)
		}
		p.Screenshot(name)
		p.Calm()
	}
}

// The tabs in the bar follow the WAI-ARIA pattern for tabs: only one is in the Tab order; arrow keys, Home and End move the focus
// and show the focused tab. The page breaks no accessibility rule in any state or look.
func TestBarAccessibility(t *testing.T) {
	needsAxe(t)
	stub, dir := NewStub(t), t.TempDir()
	b := Start(t, stub)
	put(t, dir, "first.json.gz", recording)
	w := Run(t, dir, "view", "first.json.gz", recordingThatIsNone(t, dir))
	address := w.Address()
	for name, look := range looks() {
		p := b.Open(address, look...)
		stub.Await(t, "trace")
		p.Await(`!document.getElementById("tabs").hidden`)
		p.Accessible(name + ", the report")
		state := func() string {
			return Eval[string](p, `[...document.querySelectorAll("[role=tab]")].map((tab) => [tab.textContent, tab.getAttribute("aria-selected"), tab.tabIndex,
				document.getElementById(tab.getAttribute("aria-controls")).hidden, document.activeElement === tab].join(" ")).join(", ")`)
		}
		Eval[chromedp.Void](p, `document.getElementById("show-report").focus()`)
		const report, timeline = "Report true 0 false true, Perfetto false -1 true false", "Report false -1 true false, Perfetto true 0 false true"
		for _, step := range []struct{ key, want string }{
			{"x", report}, {"ArrowRight", timeline}, {"ArrowRight", report}, {"ArrowLeft", timeline}, {"End", timeline}, {"Home", report}, {"End", timeline},
		} {
			Eval[chromedp.Void](p, fmt.Sprintf(`void document.activeElement.dispatchEvent(new KeyboardEvent("keydown", {key: %q, bubbles: true, cancelable: true}))`, step.key))
			if got := state(); got != step.want {
				t.Errorf("%s, after %s: %s, want %s", name, step.key, got, step.want)
			}
		}
		p.Accessible(name + ", the timeline")
		Eval[chromedp.Void](p, `(() => { const list = document.getElementById("list"); list.value = "1"; list.dispatchEvent(new Event("change")); })()`)
		p.Await(`document.getElementById("said").textContent.startsWith("none.json: ")`)
		p.Accessible(name + ", a failure")
	}
}
