package browsertest

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
)

// hint and problem are expressions for the messages on the page.
const (
	hint    = `(document.getElementById("hint").hidden ? "" : document.getElementById("hint").textContent)`
	problem = `(document.getElementById("problem").hidden ? "" : document.getElementById("said").textContent)`
)

// The page reports that Perfetto has the trace only once it has it, and reports a failed handover.
func TestWebSaysWhenPerfettoHasIt(t *testing.T) {
	stub, dir := NewStub(t), t.TempDir()
	b := Start(t, stub)
	p := openWeb(t, b)
	put(t, dir, "trace.json.gz", recording)
	choose(p, filepath.Join(dir, "trace.json.gz"))
	Eval[chromedp.Void](p, `Blob.prototype.arrayBuffer = async () => { throw new Error("no memory for it"); }; window.addEventListener("unhandledrejection", (e) => window.violations.push("unhandled " + e.reason)); undefined`)
	p.Click("#perfetto")
	p.Await(hint + ` === "The trace could not be handed over: no memory for it. Download it, and open it in Perfetto."`)
	p.Calm()
}

// The page reports after 8 s that Perfetto does not answer, unless it shows another file by then.
func TestWebPerfettoNeverAnswers(t *testing.T) {
	stub, dir := NewStub(t), t.TempDir()
	b := Start(t, stub)
	stub.Behave(Silent)
	put(t, dir, "trace.json.gz", recording)
	open := func() *Page {
		p := openWeb(t, b)
		choose(p, filepath.Join(dir, "trace.json.gz"))
		p.Click("#perfetto")
		stub.Await(t, "start")
		return p
	}
	p := open()
	p.Await(hint + `.startsWith("Perfetto does not answer. ")`)
	p.Calm()
	p = open()
	Eval[chromedp.Void](p, `take([new File(['[{"ph":"X","pid":1,"tid":1,"ts":1000,"dur":5,"name":"a"}]'], "other.json")]); undefined`)
	p.Await(ended)
	time.Sleep(9 * time.Second)
	if said := Eval[string](p, hint); said != "" {
		t.Errorf("of the other file the page says %q", said)
	}
	p.Calm()
}

// A file dropped while another one is being read replaces it: no further results of the other file appear.
func TestWebDropDuringReading(t *testing.T) {
	p := openWeb(t, Start(t, NewStub(t)))
	Eval[chromedp.Void](p, `(() => {
		take([new File(["["+'{"ph":"X","pid":1,"tid":1,"ts":1000,"dur":5,"name":"a"},'.repeat(1e5)+"{}]"], "large.json")]);
		const files = new DataTransfer();
		files.items.add(new File(['[{"ph":"X","pid":1,"tid":1,"ts":1000,"dur":5,"name":"a"}]'], "small.json"));
		window.dispatchEvent(new DragEvent("drop", { dataTransfer: files }));
	})()`)
	p.Await(ended)
	if title := Eval[string](p, `new DOMParser().parseFromString(reportText, "text/html").title`); !strings.HasPrefix(title, "small.json") || Eval[string](p, problem) != "" {
		t.Errorf("the report is of %q; the page says %q", title, Eval[string](p, problem))
	}
	p.Calm()
}

// A trace that is being packed keeps its name when another file is chosen meanwhile. If packing fails, the trace is saved as it
// is.
func TestWebDownload(t *testing.T) {
	p := openWeb(t, Start(t, NewStub(t)))
	const event = `[{"ph":"X","pid":1,"tid":1,"ts":1000,"dur":5,"name":"a"}]`
	Eval[chromedp.Void](p, `window.saved = []; download = (blob, name) => window.saved.push(name + " " + (blob.size > 0)); take([new File(['`+event+`'], "first.json")]); undefined`)
	p.Await(ended)
	Eval[chromedp.Void](p, `document.getElementById("download").click(); take([new File(['`+event+`'], "second.json")]); undefined`)
	p.Await(`saved.length === 1 && ` + ended)
	if said := Eval[string](p, hint); said != "" {
		t.Errorf("of the second file the page says %q", said)
	}
	Eval[chromedp.Void](p, `window.CompressionStream = class { constructor() { throw new Error("no gzip"); } }; document.getElementById("download").click(); undefined`)
	p.Await(`saved.length === 2`)
	if got := strings.Join(Eval[[]string](p, `saved`), ", "); got != "first.pftrace.gz true, second.pftrace true" {
		t.Errorf("saved %s", got)
	}
	if said := Eval[string](p, hint); !strings.HasPrefix(said, "The trace could not be packed: no gzip. second.pftrace is as it was") {
		t.Errorf("the page says %q", said)
	}
	p.Calm()
}

// Characters in names that would change how the surrounding text is shown are escaped.
func TestWebNames(t *testing.T) {
	p := openWeb(t, Start(t, NewStub(t)))
	for name, want := range map[string]string{
		"\u202egnp.\u2066x.json": `\u202egnp.\u2066x.json`, "a\x1b[31m\u0085.json": `a\u001b[31m\u0085.json`, "\u06a9\u200c\u0647 👩\u200d💻 計.json": "\u06a9\u200c\u0647 👩\u200d💻 計.json",
		"\U000e0041.json": `\U000e0041.json`,
	} {
		Eval[chromedp.Void](p, `take([new File([""], "`+name+`")]); undefined`)
		if got := Eval[string](p, `document.getElementById("name").textContent`); got != want {
			t.Errorf("while it is read %q is shown as %q", name, got)
		}
		p.Await(problem + ` !== ""`)
		if got := Eval[string](p, problem); !strings.HasPrefix(got, want+": ") {
			t.Errorf("the problem of %q is shown as %q", name, got)
		}
	}
	p.Calm()
}

// The page distinguishes a bug in the module from a file that is too large, and continues to work after both.
func TestWebModuleEnds(t *testing.T) {
	p := openWeb(t, Start(t, NewStub(t)))
	const ask = `ask("open", null, {}).then(() => "done", (err) => err.message)`
	if said := Eval[string](p, ask); !strings.HasPrefix(said, "weft has failed, please report it: panic: ") || !strings.Contains(said, "syscall/js") {
		t.Errorf("after a panic: %q", said)
	}
	for reason, tooLarge := range map[string]bool{
		"fatal error: runtime: out of memory": true, "runtime: out of memory: cannot allocate 4194304-byte block": true, "RangeError: WebAssembly.Memory.grow(): out of memory": true,
		"panic: runtime error: invalid memory address or nil pointer dereference": false, "fatal error: all goroutines are asleep - deadlock!": false, "": false,
	} {
		if said := Eval[string](p, "endedText(`"+reason+"`)"); strings.HasPrefix(said, "This is more than a browser holds.") != tooLarge {
			t.Errorf("%q: %q", reason, said)
		}
	}
	Eval[chromedp.Void](p, `take([new File(['[{"ph":"X","pid":1,"tid":1,"ts":1000,"dur":5,"name":"a"}]'], "after.json")]); undefined`)
	p.Await(ended + ` && output !== null`)
}

// Memory use during reading reflects the content of a packed file, and triggers the warning about large files. The memory for one
// file is free for the next.
func TestWebMemory(t *testing.T) {
	p := openWeb(t, Start(t, NewStub(t)))
	Eval[chromedp.Void](p, `window.memory = []; { const now = answer; answer = (data) => { if ("progress" in data) memory.push(data.memory); now(data); }; } undefined`)
	for range 3 {
		Eval[chromedp.Void](p, `take([new File(["["+'{"ph":"X","pid":1,"tid":1,"ts":1000,"dur":5,"name":"a"},'.repeat(1.5e5)+"{}]"], "a.json")]); undefined`)
		p.Await(ended)
	}
	memory := Eval[[]float64](p, `memory`)
	// Each file is read once, in pieces of 256 KiB.
	const pieces = (len("[{}]") + 1.5e5*len(`{"ph":"X","pid":1,"tid":1,"ts":1000,"dur":5,"name":"a"},`) + 256<<10 - 1) / (256 << 10)
	if len(memory) != 3*pieces {
		t.Fatalf("%d pieces were read, not 3 × %d", len(memory), pieces)
	}
	for i := pieces; i < len(memory); i += pieces {
		if memory[i] > memory[0]+4<<20 {
			t.Errorf("after %d pieces the next file starts with %.0f bytes, the first one with %.0f", i, memory[i], memory[0])
		}
	}
	const warned = `document.getElementById("large").hidden`
	if before, after := Eval[bool](p, warned), Eval[bool](p, `task = {}; answer({ progress: 1, memory: 3.1e8 }); task = null; `+warned); !before || after {
		t.Errorf("the warning is hidden: %v before much memory is taken, %v then", before, after)
	}
	p.Calm()
}
