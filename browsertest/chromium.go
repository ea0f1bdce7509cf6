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

// patience limits each wait in a test.
const patience = 30 * time.Second

// executable returns the path of the browser. Without a browser, it skips the test or, if a browser is required, fails it.
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

// A Browser is a running Chromium. It reaches the Stub as ui.perfetto.dev, and nothing outside this machine.
type Browser struct {
	t   testing.TB
	ctx context.Context
}

// Resolve returns a rule for Start that resolves a name to an address.
func Resolve(name, address string) string { return "MAP " + name + " " + address }

// Start starts a browser that runs until the test ends. more holds additional rules from Resolve.
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
		// The UI must be a public site; otherwise the browser would not ask for permission before it connects to this machine.
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

// Allow sets the permission for local-network access, which headless Chromium denies by default.
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

// A Page is a tab in which console messages, policy violations and dialogs fail the test; see Calm.
type Page struct {
	t   testing.TB
	ctx context.Context

	mu       sync.Mutex
	console  []string
	requests []string
}

// watch is a script that records the policy violations of a document and the texts posted to it.
const watch = `window.violations = [];
window.posted = [];
window.addEventListener("message", (m) => { if (typeof m.data === "string") window.posted.push(m.data); });
document.addEventListener("securitypolicyviolation", (v) => window.violations.push(v.violatedDirective + " " + v.blockedURI + " " + v.sample));`

// Open opens an address in a new tab, after running steps there.
func (b *Browser) Open(address string, steps ...chromedp.Action[chromedp.Void]) *Page {
	b.t.Helper()
	ctx, cancel := chromedp.NewContext(b.ctx)
	b.t.Cleanup(cancel)
	p := &Page{t: b.t, ctx: ctx}
	if err := chromedp.Do(ctx, chromedp.Navigate("about:blank")); err != nil { // the first call must have no timeout, which would also end the tab
		b.t.Fatal(err)
	}
	if _, err := chromedp.Call(ctx, page.AddScriptToEvaluateOnNewDocument, page.AddScriptToEvaluateOnNewDocumentParams{Source: watch}); err != nil {
		b.t.Fatal(err)
	}
	p.listen()
	p.do(steps...)
	bound, stop := context.WithTimeout(ctx, patience)
	defer stop()
	// The browser reports a response without content as an error and shows its own page for it.
	if err := chromedp.Do(bound, chromedp.Navigate(address)); err != nil && !strings.Contains(err.Error(), "ERR_HTTP_RESPONSE_CODE_FAILURE") {
		b.t.Fatalf("%s: %v", address, err)
	}
	return p
}

// Frame returns the frame of a page whose address ends in suffix. The frame must be from another site or in a sandbox, so that
// the browser treats it as a separate page.
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

// listen records the console messages, requests and dialogs of the page.
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

// Eval returns the value of a JavaScript expression or, if that is a promise, the value of the promise.
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

// hasMoved reports whether the browser replaced the context of the page while a script ran in it, as at the end of a navigation.
// The script can be run again.
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

// text returns the visible text of the page, for messages.
func (p *Page) text() string {
	ctx, cancel := context.WithTimeout(p.ctx, time.Second)
	defer cancel()
	text, err := chromedp.Run(ctx, chromedp.Evaluate[string]("document.body.innerText"))
	if err != nil {
		return err.Error()
	}
	return text
}

// settled is a promise that resolves once changes have been drawn. Until then, the browser can deliver a click to a frame of
// another site that was there before.
const settled = `new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(() => done(true), 200))))`

// Click clicks an element once it has been drawn, as a user does.
func (p *Page) Click(css string) {
	p.t.Helper()
	Eval[bool](p, settled)
	p.do(chromedp.Click(chromedp.CSS(css)))
}

// Console returns the console messages of the page, including dialogs.
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

// Calm fails the test if the page has violated its policy, opened a dialog or written to the console, except for messages that
// contain an expected text.
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

// Screenshot saves a screenshot of the page if WEFT_SCREENSHOTS is set.
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

// Look returns the steps that set the window size and the theme of a page.
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

// A listener records connections and never responds.
type listener struct {
	address string
	mu      sync.Mutex
	first   []string // the first bytes of each connection
}

// listen listens on an address until the test ends; if the address is in use, it records nothing.
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
