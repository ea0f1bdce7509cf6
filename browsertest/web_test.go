package browsertest

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"html"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/chromedp/chromedp"
)

func TestMain(m *testing.M) {
	code := m.Run()
	for _, dir := range tempDirs {
		os.RemoveAll(dir)
	}
	os.Exit(code)
}

// pages makes weft.html and weft-hosted once.
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

// openWeb opens weft.html from the disk.
func openWeb(t *testing.T, b *Browser, steps ...chromedp.Action[chromedp.Void]) *Page {
	t.Helper()
	dir, err := pages()
	if err != nil {
		t.Fatal(err)
	}
	return b.Open("file://"+filepath.ToSlash(filepath.Join(dir, "weft.html")), steps...)
}

// choose gives the page a file, and waits for what comes of it.
func choose(p *Page, path string) {
	p.t.Helper()
	p.do(chromedp.SetUploadFiles(chromedp.CSS("#file"), []string{path}))
	p.Await(`!document.getElementById("result").hidden || !document.getElementById("problem").hidden`)
}

// digestOf is the SHA-256 of a Blob or a text of the page.
func digestOf(p *Page, expression string) string {
	return Eval[string](p, `(async () => {
		const sum = await crypto.subtle.digest("SHA-256", await new Blob([`+expression+`]).arrayBuffer());
		return [...new Uint8Array(sum)].map((b) => b.toString(16).padStart(2, "0")).join("");
	})()`)
}

// printed is what weft prints in a folder.
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

// What the page makes of a file is what weft makes of it, byte for byte: the trace, with and without attribution, and the report. Nothing but
// the page itself is asked for.
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
			p.Click("#report")
			p.Await(`!document.getElementById("page").hidden`)
			report := printed(t, dir, "report", "all", "--html", "-", name)
			if got := digestOf(p, "reportText"); got != hexDigest(report) {
				t.Errorf("the report has %d bytes, want %d", Eval[int64](p, "new Blob([reportText]).size"), len(report))
			}
		})
	}
	p.Screenshot("web")
	p.Calm()
	for _, request := range p.Requests() {
		if !strings.HasSuffix(request, "/weft.html") && !strings.Contains(request, " blob:") {
			t.Errorf("the page asked for %s", request)
		}
	}
}

// findings match the verdict of a report, and the titles of what to change.
var findings = regexp.MustCompile(`(?:<h1[^>]*>|<li[^>]*><h3>)(.*?)</h[13]>`)

// tag matches a tag.
var tag = regexp.MustCompile(`<[^>]*>`)

// looked is true when the page has found out what stands out.
const looked = `document.getElementById("looking").textContent !== "Looking into the trace"`

// After the conversion the page says what stands out, in the words of the report, and by itself. A file that comes while it still looks into
// another one gets its own sentences.
func TestWebStandsOut(t *testing.T) {
	b, dir := Start(t, NewStub(t)), t.TempDir()
	p := openWeb(t, b)
	for name, from := range map[string]string{"first.json.gz": recording, "second.cpuprofile.gz": "../testdata/traces/cpuprofile/cdp-page-small.cpuprofile.gz"} {
		put(t, dir, name, from)
	}
	if err := os.WriteFile(filepath.Join(dir, "empty.json"), []byte("[]"), 0o666); err != nil {
		t.Fatal(err)
	}
	want := func(name string) (list []string) {
		for _, m := range findings.FindAllSubmatch(printed(t, dir, "report", "all", "--html", "-", name), -1) {
			list = append(list, html.UnescapeString(tag.ReplaceAllString(string(m[1]), "")))
		}
		return list
	}
	for _, name := range []string{"first.json.gz", "empty.json", "second.cpuprofile.gz"} {
		choose(p, filepath.Join(dir, "first.json.gz"))
		choose(p, filepath.Join(dir, name)) // while it looks into the first
		p.Await(looked)
		got := Eval[[]string](p, `[...document.querySelectorAll("#findings li")].map((e) => e.textContent.trim())`)
		if want := want(name); !slices.Equal(got, want) || (len(want) == 1) != (name == "empty.json") {
			t.Errorf("%s: the page says %q, want %q", name, got, want)
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

// The click on Open in Perfetto gives the UI the trace, which asks its user because the page is from a disk.
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
	p.Await(`document.getElementById("hint").textContent === "Perfetto has the trace."`)
}

// The page of a web server fetches its module from there, and does the same.
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

// A file that cannot be read gets a message, and the page goes on. Names are texts, whatever is in them.
func TestWebBadFiles(t *testing.T) {
	b, dir := Start(t, NewStub(t)), t.TempDir()
	p := openWeb(t, b)
	for name, c := range map[string]struct{ content, says string }{
		"empty.json":                     {"", "empty"},
		"<img src=x onerror=alert(1)>.7": {"neither fish nor fowl", "weft reads"},
		"cut.json.gz":                    {"\x1f\x8b\x08", "gzip"},
	} {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(c.content), 0o666); err != nil {
			t.Fatal(err)
		}
		choose(p, path)
		if got := Eval[string](p, `document.getElementById("problem").hidden ? "" : document.getElementById("said").textContent`); !strings.Contains(got, name+": ") || !strings.Contains(got, c.says) {
			t.Errorf("%s: the page says %q", name, got)
		}
	}
	want := put(t, dir, "trace.json.gz", recording)
	choose(p, filepath.Join(dir, "trace.json.gz"))
	if got := digestOf(p, "output"); got != want.SHA256 {
		t.Errorf("after bad files: %s, want %s", got, want.SHA256)
	}
	p.Calm()
}

// Files that come before the module runs do not mix: the last one counts. It can be stopped then as well.
func TestWebBeforeItRuns(t *testing.T) {
	b, dir := Start(t, NewStub(t)), t.TempDir()
	p := openWeb(t, b)
	const event = `[{"ph":"X","pid":1,"tid":1,"ts":1000,"dur":5,"name":"b"}]`
	if err := os.WriteFile(filepath.Join(dir, "b.json"), []byte(event), 0o666); err != nil {
		t.Fatal(err)
	}
	Eval[bool](p, `(() => {
		dropWorker("so that the module starts again");
		convert(new File(["["+'{"ph":"X","pid":1,"tid":1,"ts":1000,"dur":5,"name":"a"},'.repeat(1e5)+"{}]"], "a.json"));
		convert(new File([`+"`"+event+"`"+`], "b.json"));
		return true;
	})()`)
	p.Await(`!document.getElementById("result").hidden || !document.getElementById("problem").hidden`)
	want := hexDigest(printed(t, dir, "convert", "--quiet", "--compress", "none", "--packets", "compact", "-o", "-", "b.json"))
	if name, got := Eval[string](p, `document.getElementById("what").textContent`), digestOf(p, "output"); name != "b.json" || got != want {
		t.Errorf("%s: %s, want %s", name, got, want)
	}
	Eval[bool](p, `(() => {
		dropWorker("so that the module starts again");
		convert(new File(["[]"], "c.json"));
		document.getElementById("stop").click();
		return true;
	})()`)
	p.Await(`document.getElementById("work").hidden && document.getElementById("said").textContent === "c.json: stopped"`)
	p.Calm()
}

// The page breaks no rule of accessibility: before it has a file, with what is made of one, with the report, and after a failure.
func TestWebAccessibility(t *testing.T) {
	needsAxe(t)
	b, dir := Start(t, NewStub(t)), t.TempDir()
	put(t, dir, "trace.json.gz", recording)
	for name, look := range looks() {
		p := openWeb(t, b, look...)
		p.Accessible(name + ", before a file")
		choose(p, filepath.Join(dir, "trace.json.gz"))
		p.Await(looked)
		Eval[chromedp.Void](p, `document.querySelectorAll("details").forEach((d) => { d.open = true; })`)
		p.Accessible(name + ", a trace")
		p.Click("#report")
		p.Await(`!document.getElementById("page").hidden`)
		p.Accessible(name + ", the report")
		choose(p, filepath.Join(dir, recordingThatIsNone(t, dir)))
		p.Accessible(name + ", a failure")
		p.Calm()
	}
}

// TestWebLooks takes pictures, if they are wanted.
func TestWebLooks(t *testing.T) {
	if os.Getenv("WEFT_SCREENSHOTS") == "" {
		t.Skip("no pictures are wanted: WEFT_SCREENSHOTS is not set")
	}
	b, dir := Start(t, NewStub(t)), t.TempDir()
	put(t, dir, "trace.json.gz", recording)
	for name, look := range map[string][]chromedp.Action[chromedp.Void]{
		"light": Look(1280, 900, false), "dark": Look(1280, 900, true), "narrow": Look(400, 800, false),
	} {
		p := openWeb(t, b, look...)
		p.Screenshot("web-" + name + "-first")
		choose(p, filepath.Join(dir, "trace.json.gz"))
		p.Await(looked)
		p.Screenshot("web-" + name + "-done")
	}
}
