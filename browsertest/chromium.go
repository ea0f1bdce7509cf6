package browsertest

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/browser"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"
)

// patience bounds every wait of a test.
const patience = 30 * time.Second

// executable returns the program of the browser; without one it skips or, if one is required, fails the test.
func executable(t testing.TB) string {
	t.Helper()
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	const missing = "chromium is missing: apt-get install --no-install-recommends chromium fonts-dejavu-core"
	if os.Getenv("WEFT_BROWSER") == "required" {
		t.Fatal(missing + "; WEFT_BROWSER=required asks for it, WEFT_BROWSER=optional skips the tests")
	}
	t.Skip(missing + "; WEFT_BROWSER=required makes this a failure")
	return ""
}

// A Browser is a running Chromium. It reaches the Stub as ui.perfetto.dev, and nothing outside of this machine.
type Browser struct {
	t   testing.TB
	ctx context.Context
}

// Resolve is a rule for Start by which a name leads to an address.
func Resolve(name, address string) string { return "MAP " + name + " " + address }

// Start starts a browser that ends with the test. More names may resolve.
func Start(t testing.TB, stub *Stub, more ...string) *Browser {
	t.Helper()
	path := executable(t)
	b := &Browser{t: t}
	flags := map[string]any{
		"headless": true, "disable-gpu": true, "disable-quic": true, "no-first-run": true, "disable-background-networking": true,
		"disable-component-update": true, "disable-sync": true, "disable-dev-shm-usage": true, "hide-scrollbars": true,
		"no-sandbox":                os.Geteuid() == 0,
		"ignore-certificate-errors": true,
		"host-resolver-rules": strings.Join(append(more, fmt.Sprintf("MAP %s:443 %s", stubHost, stub.address), "MAP * ~NOTFOUND",
			"EXCLUDE 127.0.0.1", "EXCLUDE localhost"), ", "),
		// The UI is a public site, otherwise the browser would not ask before it reaches for this machine.
		"ip-address-space-overrides": stub.address + "=public",
	}
	opts := []chromedp.ExecAllocatorOption{chromedp.ExecPath(path), chromedp.UserDataDir(t.TempDir())}
	for name, value := range flags {
		opts = append(opts, chromedp.Flag(name, value))
	}
	allocator, cancelAllocator := chromedp.NewExecAllocator(context.Background(), opts...)
	ctx, cancel := chromedp.NewContext(allocator)
	b.ctx = ctx
	t.Cleanup(func() {
		_ = chromedp.Cancel(ctx) // waits until the browser has ended
		cancel()
		cancelAllocator()
	})
	if err := chromedp.Do(ctx); err != nil {
		t.Fatalf("%s does not start: %v", path, err)
	}
	return b
}

// Allow grants local-network access, which headless Chromium denies by default.
func (b *Browser) Allow(setting browser.PermissionSetting) {
	b.t.Helper()
	for _, name := range []string{"loopback-network", "local-network", "local-network-access"} {
		_, err := chromedp.CallBrowser(b.ctx, browser.SetPermission, browser.SetPermissionParams{
			Permission: &browser.PermissionDescriptor{Name: name}, Setting: setting, Origin: "https://" + stubHost,
		})
		if err != nil && name == "loopback-network" {
			b.t.Fatal(err)
		}
	}
}

// A Page is a tab in which console errors, violations of the policy and dialogs fail the test.
type Page struct {
	t   testing.TB
	ctx context.Context

	mu       sync.Mutex
	console  []string
	requests []string
}

// watch has a document keep violations of its policy and the texts that were posted to it, from the start.
const watch = `window.violations = [];
window.posted = [];
window.addEventListener("message", (m) => { if (typeof m.data === "string") window.posted.push(m.data); });
document.addEventListener("securitypolicyviolation", (v) => window.violations.push(v.violatedDirective + " " + v.blockedURI + " " + v.sample));`

// Open opens an address in a new tab.
func (b *Browser) Open(address string, steps ...chromedp.Action[chromedp.Void]) *Page {
	b.t.Helper()
	ctx, cancel := chromedp.NewContext(b.ctx)
	b.t.Cleanup(cancel)
	p := &Page{t: b.t, ctx: ctx}
	if err := chromedp.Do(ctx, chromedp.Navigate("about:blank")); err != nil { // the first call must not have a bound: the tab would end with it
		b.t.Fatal(err)
	}
	if _, err := chromedp.Call(ctx, page.AddScriptToEvaluateOnNewDocument, page.AddScriptToEvaluateOnNewDocumentParams{Source: watch}); err != nil {
		b.t.Fatal(err)
	}
	p.listen()
	p.do(steps...)
	bound, stop := context.WithTimeout(ctx, patience)
	defer stop()
	// An answer without content is an error of the browser, which has a page for that.
	if err := chromedp.Do(bound, chromedp.Navigate(address)); err != nil && !strings.Contains(err.Error(), "ERR_HTTP_RESPONSE_CODE_FAILURE") {
		b.t.Fatalf("%s: %v", address, err)
	}
	return p
}

// Frame returns the frame of a page whose address ends like this. It must be of another site or in a sandbox, and so a page of its own for
// the browser.
func (b *Browser) Frame(p *Page, suffix string) *Page {
	b.t.Helper()
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
		infos, err := chromedp.Targets(p.ctx)
		if err != nil {
			b.t.Fatal(err)
		}
		for _, info := range infos {
			if info.Type == "iframe" && strings.HasSuffix(info.URL, suffix) {
				ctx, cancel := chromedp.NewContext(p.ctx, chromedp.WithTargetID(info.TargetID))
				b.t.Cleanup(cancel)
				if err := chromedp.Do(ctx); err != nil {
					b.t.Fatal(err)
				}
				return &Page{t: b.t, ctx: ctx}
			}
		}
	}
	b.t.Fatalf("there is no frame of %s", suffix)
	return nil
}

// listen records events of the page.
func (p *Page) listen() {
	console := chromedp.Console(p.ctx)
	requests := chromedp.Events(p.ctx, network.RequestWillBeSent)
	dialogs := chromedp.Events(p.ctx, page.JavascriptDialogOpening)
	note := func(list *[]string, text string) {
		p.mu.Lock()
		defer p.mu.Unlock()
		*list = append(*list, text)
	}
	go func() {
		for message, err := range console {
			if err != nil {
				return
			}
			note(&p.console, fmt.Sprintf("%s: %s (%s)", message.Type, message.Text, message.URL))
		}
	}()
	go func() {
		for request, err := range requests {
			if err != nil {
				return
			}
			note(&p.requests, request.Request.Method+" "+request.Request.URL)
		}
	}()
	go func() {
		for dialog, err := range dialogs {
			if err != nil {
				return
			}
			note(&p.console, "dialog: "+dialog.Message)
			_, _ = chromedp.Call(p.ctx, page.HandleJavaScriptDialog, page.HandleJavaScriptDialogParams{Accept: true})
		}
	}()
}

// do runs steps in the page.
func (p *Page) do(steps ...chromedp.Action[chromedp.Void]) {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(p.ctx, patience)
	defer cancel()
	if err := chromedp.Do(ctx, steps...); err != nil {
		p.t.Fatalf("%v\nthe page says: %s", err, p.text())
	}
}

// Eval returns the value of a JavaScript expression, after its promise if it is one.
func Eval[T any](p *Page, expression string) T {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(p.ctx, patience)
	defer cancel()
	value, err := chromedp.Run(ctx, chromedp.Evaluate[T](expression, chromedp.EvalAwaitPromise))
	for err != nil && hasMoved(err) {
		value, err = chromedp.Run(ctx, chromedp.Evaluate[T](expression, chromedp.EvalAwaitPromise))
	}
	if err != nil {
		p.t.Fatalf("%s: %v", expression, err)
	}
	return value
}

// hasMoved reports whether the browser gave the page another context just when something ran in it, as it does at the end of a
// navigation. What ran can run again.
func hasMoved(err error) bool {
	return strings.Contains(err.Error(), "Cannot find context with specified id")
}

// Await waits until an expression is true.
func (p *Page) Await(expression string) {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(p.ctx, patience)
	defer cancel()
	poll := chromedp.Poll[bool](expression, chromedp.WithPollingInterval(20*time.Millisecond))
	_, err := chromedp.Run(ctx, poll)
	for err != nil && hasMoved(err) {
		_, err = chromedp.Run(ctx, poll)
	}
	if err != nil {
		p.t.Fatalf("%s: %v\nthe page says: %s\nthe console: %q", expression, err, p.text(), p.Console())
	}
}

// text is the visible text of the page, for messages.
func (p *Page) text() string {
	ctx, cancel := context.WithTimeout(p.ctx, time.Second)
	defer cancel()
	text, err := chromedp.Run(ctx, chromedp.Evaluate[string]("document.body.innerText"))
	if err != nil {
		return err.Error()
	}
	return text
}

// settled is fulfilled when what has changed was drawn. Until then the browser may take a click for one on a frame of another site that was
// there before.
const settled = `new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(() => done(true), 200))))`

// Click clicks an element as a user does, who sees it first.
func (p *Page) Click(css string) {
	p.t.Helper()
	Eval[bool](p, settled)
	p.do(chromedp.Click(chromedp.CSS(css)))
}

// Console returns what was written to the console, dialogs included.
func (p *Page) Console() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.console)
}

// Requests returns the requests of the page, each with its method.
func (p *Page) Requests() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.requests)
}

// Calm fails the test if the page has broken its policy, opened a dialog or written an error to the console, but for expected ones.
func (p *Page) Calm(expected ...string) {
	p.t.Helper()
	for _, violation := range Eval[[]string](p, "window.violations") {
		p.t.Errorf("violation of the policy: %s", violation)
	}
	for _, line := range p.Console() {
		if !slices.ContainsFunc(expected, func(e string) bool { return strings.Contains(line, e) }) {
			p.t.Errorf("console: %s", line)
		}
	}
}

// Screenshot takes a picture of the page, if pictures are wanted.
func (p *Page) Screenshot(name string) {
	p.t.Helper()
	dir := os.Getenv("WEFT_SCREENSHOTS")
	if dir == "" {
		return
	}
	ctx, cancel := context.WithTimeout(p.ctx, patience)
	defer cancel()
	picture, err := chromedp.Run(ctx, chromedp.CaptureScreenshot())
	if err == nil {
		err = os.WriteFile(dir+"/"+name+".png", picture, 0o644)
	}
	if err != nil {
		p.t.Error(err)
	}
}

// Look is the size of the window and the theme of a page.
func Look(width, height int64, dark bool) []chromedp.Action[chromedp.Void] {
	scheme := "light"
	if dark {
		scheme = "dark"
	}
	return []chromedp.Action[chromedp.Void]{
		chromedp.EmulateViewport(width, height),
		func(ctx context.Context, _ *chromedp.Target) (chromedp.Void, error) {
			_, err := chromedp.Call(ctx, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
				Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}},
			})
			return chromedp.Void{}, err
		},
	}
}

// A listener records connections and never answers.
type listener struct {
	address string
	mu      sync.Mutex
	first   []string // what each connection began with
}

// listen listens on an address until the test ends; if the address is taken, nothing is recorded.
func listen(t testing.TB, address string) *listener {
	l, err := net.Listen("tcp4", address)
	if err != nil {
		t.Logf("%v; nothing listens there", err)
		return &listener{address: address}
	}
	t.Cleanup(func() { l.Close() })
	out := &listener{address: l.Addr().String()}
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer c.Close()
				c.SetReadDeadline(time.Now().Add(time.Second))
				head := make([]byte, 256)
				n, _ := c.Read(head)
				out.mu.Lock()
				defer out.mu.Unlock()
				out.first = append(out.first, string(head[:n]))
			}()
		}
	}()
	return out
}

func (l *listener) heard() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.first)
}
