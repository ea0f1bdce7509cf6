package browsertest

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
)

func TestMain(m *testing.M) {
	code := m.Run()
	for _, dir := range tempDirs {
		os.RemoveAll(dir)
	}
	os.Exit(code)
}

// pages builds weft.html and weft-hosted once and returns their folder.
var pages = sync.OnceValues(func() (string, error) {
	dir, err := tempDir()
	if err != nil {
		return "", err
	}
	cmd := exec.Command("go", "run", "./cmd/weftweb/bundle", "-brotli", "1", "-o", dir)
	cmd.Dir = ".."
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", errors.New(string(out))
	}
	return dir, nil
})

// openWeb opens weft.html from disk.
func openWeb(t *testing.T, b *Browser, steps ...chromedp.Action[chromedp.Void]) *Page {
	t.Helper()
	dir, err := pages()
	if err != nil {
		t.Fatal(err)
	}
	return b.Open("file://"+filepath.ToSlash(filepath.Join(dir, "weft.html")), steps...)
}

// ended is true when the page has finished processing files or reports a problem.
const ended = `(document.getElementById("page") !== null && document.getElementById("made").textContent === "" || !document.getElementById("problem").hidden)`

// choose chooses files in the page and waits for the results.
func choose(p *Page, paths ...string) {
	p.t.Helper()
	Eval[chromedp.Void](p, `input = null; undefined`)
	p.do(chromedp.SetUploadFiles(chromedp.CSS("#file"), paths))
	p.Await(`input !== null && ` + ended)
}

// digestOf returns the SHA-256 of a Blob or text in the page.
func digestOf(p *Page, expression string) string {
	return Eval[string](p, `(async () => {
		const sum = await crypto.subtle.digest("SHA-256", await new Blob([`+expression+`]).arrayBuffer());
		return [...new Uint8Array(sum)].map((b) => b.toString(16).padStart(2, "0")).join("");
	})()`)
}

// printed returns the output of weft, run in a folder.
func printed(t *testing.T, dir string, args ...string) []byte {
	t.Helper()
	cmd := exec.CommandContext(context.Background(), program(t), args...)
	cmd.Dir = dir
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("weft %q: %v", args, err)
	}
	return out
}

func hexDigest(content []byte) string {
	sum := sha256.Sum256(content)
	return hex.EncodeToString(sum[:])
}

// From one reading of a file, the page produces the same bytes as weft: the trace, with and without attribution, and the report.
// It requests nothing except itself.
func TestWebSameBytes(t *testing.T) {
	b, dir := Start(t, NewStub(t)), t.TempDir()
	p := openWeb(t, b)
	for _, from := range []string{recording, "../testdata/traces/firefox/processed/ff-processed-tiny.json.gz", "../testdata/traces/cpuprofile/cdp-page-small.cpuprofile.gz"} {
		name := filepath.Base(from)
		t.Run(name, func(t *testing.T) {
			want := put(t, dir, name, from)
			for _, attribute := range []bool{false, true} {
				args := []string{"convert", "--quiet", "--compress", "none", "--packets", "compact", "-o", "-", name}
				if attribute {
					want.SHA256 = hexDigest(printed(t, dir, append(args, "--attribute")...))
					Eval[bool](p, `document.getElementById("attribute").checked = true`)
				} else {
					Eval[bool](p, `document.getElementById("attribute").checked = false`)
				}
				choose(p, filepath.Join(dir, name))
				if got := digestOf(p, "output"); got != want.SHA256 {
					t.Errorf("attribute %v: %d bytes %s, want %s", attribute, Eval[int64](p, "output.size"), got, want.SHA256)
				}
			}
			report := printed(t, dir, "report", "all", "--html", "-", name)
			if got := digestOf(p, "reportText"); got != hexDigest(report) {
				t.Errorf("the report has %d bytes, want %d", Eval[int64](p, "new Blob([reportText]).size"), len(report))
			}
		})
	}
	p.Screenshot("web")
	p.Calm()
	for _, request := range p.Requests() {
		if !strings.HasSuffix(request, "/weft.html") && !strings.Contains(request, " blob:") && !strings.HasPrefix(request, "GET data:image/png") {
			t.Errorf("the page asked for %.100s", request)
		}
	}
}

// The page compares the older of two files with the newer one, and summarizes more than two. It names files that cannot be read.
func TestWebSeveralFiles(t *testing.T) {
	b, dir := Start(t, NewStub(t)), t.TempDir()
	p := openWeb(t, b, Look(1280, 900, false)...)
	path := func(name string) string { return filepath.Join(dir, name) }
	for i, name := range []string{"rank0.json.gz", "rank1.json.gz", "rank2.json.gz", "rank3.json.gz"} {
		put(t, dir, name, "../testdata/traces/merge/"+name)
		if at := time.Unix(1_700_000_000-int64(i), 0); os.Chtimes(path(name), at, at) != nil {
			t.Fatal("the time of a file cannot be set")
		}
	}
	choose(p, path("rank0.json.gz"), path("rank1.json.gz"))
	if got, want := digestOf(p, "reportText"), hexDigest(printed(t, dir, "compare", "--html", "-", "rank1.json.gz", "rank0.json.gz")); got != want {
		t.Errorf("the comparison is %q", Eval[string](p, "reportText"))
	}
	if Eval[bool](p, `document.getElementById("perfetto").checkVisibility()`) {
		t.Error("a comparison can be opened in Perfetto")
	}
	p.Screenshot("web-two")
	choose(p, path("rank3.json.gz"), path("rank1.json.gz"), path("rank2.json.gz"), path(recordingThatIsNone(t, dir)))
	r := b.Frame(p, "about:srcdoc")
	r.Await(`document.querySelectorAll("#each li").length === 3`)
	for i, name := range []string{"rank3.json.gz", "rank2.json.gz", "rank1.json.gz"} {
		said := strings.SplitN(string(printed(t, dir, "report", "all", name)), "\n", 2)[0]
		row := Eval[string](r, fmt.Sprintf(`document.querySelectorAll("#each li")[%d].innerText`, i))
		if !strings.HasSuffix(strings.TrimSpace(row), name) || !strings.Contains(row, strings.TrimSuffix(said, ".")) {
			t.Errorf("row %d says %q; weft says %q", i, row, said)
		}
	}
	if note := Eval[string](r, `document.querySelector("#each .note").textContent`); !strings.HasPrefix(note, "none.json: ") {
		t.Errorf("of what cannot be read the page says %q", note)
	}
	p.Screenshot("web-many")
	p.Calm()
}

// The examples are embedded in the page and can be read.
func TestWebExamples(t *testing.T) {
	p := openWeb(t, Start(t, NewStub(t)))
	n := Eval[int](p, `document.querySelectorAll("#examples button").length`)
	if n < 3 {
		t.Fatalf("%d examples", n)
	}
	for i := range n {
		Eval[chromedp.Void](p, fmt.Sprintf(`input = null; document.querySelectorAll("#examples button")[%d].click()`, i))
		p.Await(ended)
		if said := Eval[string](p, problem); said != "" || Eval[int](p, "output.size") == 0 {
			t.Errorf("example %d: %q", i, said)
		}
	}
	p.Calm()
}

// Neither the page nor its worker can connect to anything, whatever runs in them.
func TestWebCannotConnect(t *testing.T) {
	outside := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("somebody connected") }))
	defer outside.Close()
	p := openWeb(t, Start(t, NewStub(t)))
	attempt := `fetch("` + outside.URL + `", {mode: "no-cors"}).then(() => "connected", () => "refused")`
	if got := Eval[string](p, attempt); got != "refused" {
		t.Errorf("the page: %s", got)
	}
	worker := `new Promise((done) => {
		const w = new Worker(URL.createObjectURL(new Blob(['` + attempt + `.then(postMessage)'])));
		w.onmessage = (m) => done(m.data);
		w.onerror = () => done("refused");
	})`
	if got := Eval[string](p, worker); got != "refused" {
		t.Errorf("a worker: %s", got)
	}
}

// A click on Open in Perfetto gives the trace to the UI, which asks the user because the page is from disk.
func TestWebOpensPerfetto(t *testing.T) {
	stub, dir := NewStub(t), t.TempDir()
	p := openWeb(t, Start(t, stub))
	want := put(t, dir, "a trace.json.gz", recording)
	choose(p, filepath.Join(dir, "a trace.json.gz"))
	p.Click("#perfetto")
	start := stub.Await(t, "start")
	if start.Href != "https://ui.perfetto.dev/" {
		t.Errorf("the address of the UI, which its telemetry sends: %s", start.Href)
	}
	got := stub.Await(t, "trace")
	if got.Bytes != want.Bytes || got.SHA256 != want.SHA256 || got.Title != "a trace.json.gz" || !got.Asked || !got.LocalOnly || got.URL != "" {
		t.Errorf("the UI got %+v, want %d bytes %s", got, want.Bytes, want.SHA256)
	}
	p.Await(hint + ` === "Perfetto has the trace."`)
}

// A page on a web server fetches its module from there and works in the same way.
func TestWebHosted(t *testing.T) {
	dir, err := pages()
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(http.FileServer(http.Dir(filepath.Join(dir, "weft-hosted"))))
	defer server.Close()
	p := Start(t, NewStub(t)).Open(server.URL)
	in := t.TempDir()
	want := put(t, in, "trace.json.gz", recording)
	choose(p, filepath.Join(in, "trace.json.gz"))
	if got := digestOf(p, "output"); got != want.SHA256 {
		t.Errorf("%s, want %s", got, want.SHA256)
	}
	p.Calm("favicon")
}

// A file that cannot be read causes a message, and the page continues to work. Names are shown as text, whatever they contain.
func TestWebBadFiles(t *testing.T) {
	b, dir := Start(t, NewStub(t)), t.TempDir()
	p := openWeb(t, b)
	for name, c := range map[string]struct{ content, says string }{
		"empty.json":                     {"", "empty"},
		"<img src=x onerror=alert(1)>.7": {"neither fish nor fowl", "weft converts Chrome JSON traces"},
		"cut.json.gz":                    {"\x1f\x8b\x08", "gzip"},
		"wrong.json":                     {`{"traceEvents": {}}`, "traceEvents is not an array"},
	} {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(c.content), 0o666); err != nil {
			t.Fatal(err)
		}
		choose(p, path)
		got := Eval[string](p, problem)
		if !strings.HasPrefix(got, name+": ") || !strings.Contains(got, c.says) {
			t.Errorf("%s: the page says %q", name, got)
		}
		cmd := exec.Command(program(t), "convert", "-o", "-", "--", name)
		cmd.Dir = dir
		if said, _ := cmd.CombinedOutput(); string(said) != "weft: "+got+"\n" {
			t.Errorf("%s: the page says %q, weft prints %q", name, got, said)
		}
	}
	want := put(t, dir, "trace.json.gz", recording)
	choose(p, filepath.Join(dir, "trace.json.gz"))
	if got := digestOf(p, "output"); got != want.SHA256 {
		t.Errorf("after bad files: %s, want %s", got, want.SHA256)
	}
	p.Calm()
}

// If several files are chosen before the module runs, only the last one is read. The user can also stop it
// before the module runs.
func TestWebBeforeItRuns(t *testing.T) {
	b, dir := Start(t, NewStub(t)), t.TempDir()
	p := openWeb(t, b)
	const event = `[{"ph":"X","pid":1,"tid":1,"ts":1000,"dur":5,"name":"b"}]`
	if err := os.WriteFile(filepath.Join(dir, "b.json"), []byte(event), 0o666); err != nil {
		t.Fatal(err)
	}
	Eval[bool](p, `(() => {
		dropWorker("so that the module starts again");
		take([new File(["["+'{"ph":"X","pid":1,"tid":1,"ts":1000,"dur":5,"name":"a"},'.repeat(1e5)+"{}]"], "a.json")]);
		take([new File([`+"`"+event+"`"+`], "b.json")]);
		return true;
	})()`)
	p.Await(ended)
	want := hexDigest(printed(t, dir, "convert", "--quiet", "--compress", "none", "--packets", "compact", "-o", "-", "b.json"))
	if name, got := Eval[string](p, `input[0].name`), digestOf(p, "output"); name != "b.json" || got != want {
		t.Errorf("%s: %s, want %s", name, got, want)
	}
	Eval[bool](p, `(() => {
		dropWorker("so that the module starts again");
		take([new File(["[]"], "c.json")]);
		document.getElementById("stop").click();
		return true;
	})()`)
	p.Await(`document.getElementById("work").hidden && document.getElementById("said").textContent === "c.json: stopped"`)
	p.Calm()
}

// The page breaks no accessibility rule: before it has a file, with the report, and after a failure.
func TestWebAccessibility(t *testing.T) {
	needsAxe(t)
	b, dir := Start(t, NewStub(t)), t.TempDir()
	put(t, dir, "trace.json.gz", recording)
	for name, look := range looks() {
		p := openWeb(t, b, look...)
		p.Accessible(name + ", before a file")
		choose(p, filepath.Join(dir, "trace.json.gz"))
		p.Accessible(name + ", the report")
		choose(p, filepath.Join(dir, recordingThatIsNone(t, dir)))
		p.Accessible(name + ", a failure")
		p.Calm()
	}
}

// TestWebLooks saves screenshots if WEFT_SCREENSHOTS is set.
func TestWebLooks(t *testing.T) {
	if os.Getenv("WEFT_SCREENSHOTS") == "" {
		t.Skip("no pictures are wanted: WEFT_SCREENSHOTS is not set")
	}
	dir := t.TempDir()
	put(t, dir, "trace.json.gz", recording)
	for name, look := range map[string][]chromedp.Action[chromedp.Void]{
		"light": Look(1280, 900, false), "dark": Look(1280, 900, true), "narrow": Look(400, 800, false),
	} {
		b := Start(t, NewStub(t)) // a browser paints the frames of only one page
		p := openWeb(t, b, look...)
		p.Screenshot("web-" + name + "-first")
		choose(p, filepath.Join(dir, "trace.json.gz"))
		Eval[bool](b.Frame(p, "about:srcdoc"), settled)
		p.Screenshot("web-" + name + "-done")
	}
}
