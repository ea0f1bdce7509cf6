package view

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/weft-trace/weft/internal/recording"
)

// testServer is a Server that serves one trace until the test ends.
type testServer struct {
	*Server
	trace   *Trace
	content string
}

func startServer(t *testing.T, opts Options) *testServer {
	t.Helper()
	if opts.UI == nil {
		opts.UI = openUI(t, DefaultUI)
	}
	s, err := Listen(opts)
	if err != nil {
		t.Fatal(err)
	}
	content := "\x0a\x03abc"
	ts := &testServer{s, s.Add("trace.json"), content}
	ctx, cancel := context.WithCancel(t.Context())
	served := make(chan error, 1)
	go func() { served <- s.Serve(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-served; err != nil {
			t.Error(err)
		}
	})
	return ts
}

func openUI(t *testing.T, where string) *UI {
	t.Helper()
	ui, err := OpenUI(where)
	if err != nil {
		t.Fatal(err)
	}
	return ui
}

func (s *testServer) ready() {
	s.trace.Ready(Content{strings.NewReader(s.content), int64(len(s.content)), "trace.json.pftrace"}, FirstView{})
}

// oncePath returns the path of an address that leads to the secret only once.
func (s *testServer) oncePath(t *testing.T) string {
	t.Helper()
	address, _, err := s.onceAddress()
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimPrefix(address, s.base())
}

// answer is a server's response.
type answer struct {
	status int
	header http.Header
	body   string
}

// ask sends one request exactly as given, without anything that an HTTP client would add or forbid, and follows no redirects.
func (s *testServer) ask(t *testing.T, method, path string, headers ...string) answer {
	t.Helper()
	return askAt(t, portOf(s.listener), method, path, headers...)
}

func askAt(t *testing.T, port int, method, path string, headers ...string) answer {
	t.Helper()
	c, err := net.Dial("tcp4", fmt.Sprintf("127.0.0.1:%d", port))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	c.SetDeadline(time.Now().Add(time.Minute)) // in case there is no response
	text := method + " " + path + " HTTP/1.1\r\nConnection: close\r\n"
	if !strings.Contains(strings.Join(headers, "\n"), "Host:") {
		text += fmt.Sprintf("Host: 127.0.0.1:%d\r\n", port)
	}
	body := ""
	for _, h := range headers {
		if rest, ok := strings.CutPrefix(h, "Body:"); ok {
			body = rest
			h = fmt.Sprintf("Content-Length: %d", len(rest))
		}
		text += h + "\r\n"
	}
	if _, err := io.WriteString(c, text+"\r\n"+body); err != nil {
		t.Fatal(err)
	}
	response, err := http.ReadResponse(bufio.NewReader(c), &http.Request{Method: method})
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	content, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer{response.StatusCode, response.Header, string(content)}
}

// path returns the path of a name below the secret.
func (s *testServer) path(name string) string { return "/" + s.secret + "/" + name }

// wantRefused checks that a response contains nothing but its status.
func wantRefused(t *testing.T, what string, got answer, status int) {
	t.Helper()
	if got.status != status || got.body != "" {
		t.Errorf("%s: %d with %d bytes, want %d and none", what, got.status, len(got.body), status)
	}
	for _, header := range []string{"Access-Control-Allow-Origin", "Location"} {
		if value := got.header.Get(header); value != "" {
			t.Errorf("%s: %s: %s", what, header, value)
		}
	}
}

// Rule 1: no other machine can connect, and the server listens only on 127.0.0.1; the same holds for the port of a UI from
// files.
func TestListensOnLoopbackOnly(t *testing.T) {
	s := startServer(t, Options{UI: openUI(t, uiFolder(t, map[string]string{"index.html": "x"}))})
	addresses, err := net.InterfaceAddrs()
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range []net.Listener{s.listener, s.ui} {
		if got := l.Addr().(*net.TCPAddr).IP.String(); got != "127.0.0.1" {
			t.Errorf("listens on %s", got)
		}
		for _, a := range addresses {
			ip, _, err := net.ParseCIDR(a.String())
			if err != nil || ip.String() == "127.0.0.1" {
				continue
			}
			c, err := net.DialTimeout("tcp", net.JoinHostPort(ip.String(), fmt.Sprint(portOf(l))), time.Second)
			if err == nil {
				c.Close()
				t.Errorf("%s can be connected to", ip)
			}
		}
	}
}

// Rule 2: a web site whose name resolves to 127.0.0.1 is refused, even if it knows the secret.
func TestHost(t *testing.T) {
	s := startServer(t, Options{})
	s.ready()
	for _, host := range []string{
		"evil.test", "evil.test:80", "127.0.0.1.evil.test", "localhost.evil.test", "localhost.", "notlocalhost", "LOCALHOST.evil.test", "127.0.0.2",
		"0.0.0.0", "[::]", "127.1", "2130706433", "::1", "[::1", "localhost:", "localhost:80:80", "localhost:+80", "localhost:0", "localhost:65536", "user@localhost", "",
		"127.0.0.1:80,evil.test",
	} {
		for _, name := range []string{"", "trace/0", "events"} {
			wantRefusedOrBad(t, "Host "+host, s.ask(t, "GET", s.path(name), "Host: "+host))
		}
		path := s.oncePath(t)
		wantRefusedOrBad(t, "once with Host "+host, s.ask(t, "GET", path, "Host: "+host))
		if got := s.ask(t, "GET", path); got.status != http.StatusSeeOther {
			t.Errorf("Host %s used up the address", host)
		}
	}
	for _, host := range []string{"127.0.0.1", "localhost", "localhost:8080", "[::1]", "[::1]:1", "127.0.0.1:65535"} {
		if got := s.ask(t, "GET", s.path(""), "Host: "+host); got.status != http.StatusOK {
			t.Errorf("Host %s: %d", host, got.status)
		}
	}
	// An address in the request line takes precedence over the Host.
	if got := s.ask(t, "GET", "http://evil.test"+s.path("")); got.status != http.StatusForbidden {
		t.Errorf("absolute address: %d", got.status)
	}
	// HTTP/1.0 needs no Host.
	c, err := net.Dial("tcp4", s.listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	fmt.Fprintf(c, "GET %s HTTP/1.0\r\n\r\n", s.path(""))
	if text, err := io.ReadAll(c); err != nil || !bytes.HasPrefix(text, []byte("HTTP/1.0 403 ")) {
		t.Errorf("without Host: %q, %v", text, err)
	}
}

// wantRefusedOrBad also accepts 400, which package http returns for an invalid Host.
func wantRefusedOrBad(t *testing.T, what string, got answer) {
	t.Helper()
	if got.status == http.StatusBadRequest {
		return
	}
	wantRefused(t, what, got, http.StatusForbidden)
}

// Rule 3: nothing is served without the secret, and nothing reveals how close a guess is.
func TestSecret(t *testing.T) {
	s := startServer(t, Options{})
	s.ready()
	other := startServer(t, Options{})
	if s.secret == other.secret || !regexp.MustCompile(`^[A-Za-z0-9_-]{22}$`).MatchString(s.secret) {
		t.Fatalf("secrets %s and %s", s.secret, other.secret)
	}
	for _, path := range []string{
		"/", "/status", "/index.html", "/favicon.ico", "/events", "/trace/0", "/trace.pftrace", "/go/", "/go/x", "/go", "//" + s.secret + "/", "/%2e/" + s.secret + "/",
		"/" + s.secret, "/" + s.secret[:21] + "/", "/" + s.secret + "x/", "/" + strings.ToUpper(s.secret) + "/", "/" + other.secret + "/",
		"/x/../" + s.secret + "/", "/" + s.secret + "%2F", "/%" + fmt.Sprintf("%02x", s.secret[0]) + s.secret[1:] + "/",
		s.path("x"), s.path("trace"), s.path("trace/"), s.path("trace/1"), s.path("trace/00"), s.path("trace/-1"), s.path("trace/0/"), s.path("trace/0x0"),
		s.path("../"), s.path("trace/../trace/0"), s.path("/"), s.path("trace.pftrace"), s.path("page.js"), s.path("trace/99999999999999999999"),
	} {
		for _, method := range []string{"GET", "HEAD", "POST", "OPTIONS", "PUT", "DELETE", "TRACE", "PROPFIND"} {
			wantRefused(t, method+" "+path, s.ask(t, method, path), http.StatusNotFound)
		}
	}
	// The Perfetto UI looks for a trace processor with this request, and would take any 200 for one.
	wantRefused(t, "POST /status", s.ask(t, "POST", "/status", "Origin: https://ui.perfetto.dev", "Body:"), http.StatusNotFound)
	wantRefused(t, "OPTIONS *", s.ask(t, "OPTIONS", "*"), http.StatusNotFound)
	if got := s.ask(t, "GET", s.path("trace/0")); got.status != http.StatusOK || got.body != s.content {
		t.Errorf("with the secret: %d %q", got.status, got.body)
	}
	if got := s.ask(t, "HEAD", s.path("trace/0")); got.status != http.StatusOK || got.body != "" {
		t.Errorf("HEAD: %d %q", got.status, got.body)
	}
}

// Rule 4: the address that browsers get leads to the secret only once, and only for a minute.
func TestOnce(t *testing.T) {
	s := startServer(t, Options{})
	now := time.Now()
	s.mu.Lock()
	s.now = func() time.Time { return now }
	s.mu.Unlock()
	path := s.oncePath(t)
	wantRefused(t, "HEAD", s.ask(t, "HEAD", path), http.StatusNotFound)
	wantRefused(t, "POST", s.ask(t, "POST", path), http.StatusNotFound)
	wantRefused(t, "with more behind it", s.ask(t, "GET", path+"/"), http.StatusNotFound)
	if got := s.ask(t, "GET", path); got.status != http.StatusSeeOther || got.header.Get("Location") != s.path("") || got.header.Get("Cache-Control") != "no-store" {
		t.Errorf("first time: %+v", got)
	}
	wantRefused(t, "second time", s.ask(t, "GET", path), http.StatusNotFound)

	at := func(age time.Duration) answer {
		path := s.oncePath(t)
		s.mu.Lock()
		now = now.Add(age)
		s.mu.Unlock()
		return s.ask(t, "GET", path)
	}
	if got := at(onceLife - time.Millisecond); got.status != http.StatusSeeOther {
		t.Errorf("just before a minute: %d", got.status)
	}
	wantRefused(t, "after a minute", at(onceLife), http.StatusNotFound)
	wantRefused(t, "empty", s.ask(t, "GET", oncePath), http.StatusNotFound)
}

// Concurrent requests do not use an address twice.
func TestOnceAtOnce(t *testing.T) {
	s := startServer(t, Options{})
	path := s.oncePath(t)
	statuses := make(chan int)
	for range 8 {
		go func() { statuses <- s.ask(t, "GET", path).status }()
	}
	found := 0
	for range 8 {
		if <-statuses == http.StatusSeeOther {
			found++
		}
	}
	if found != 1 {
		t.Errorf("%d were led to the secret", found)
	}
}

// Rule 5: GET and HEAD, and one POST from the server's own page.
func TestMethods(t *testing.T) {
	s := startServer(t, Options{})
	s.ready()
	for _, name := range []string{"", "events", "trace/0"} {
		for _, method := range []string{"POST", "PUT", "DELETE", "OPTIONS", "TRACE", "PATCH"} {
			wantRefused(t, method+" "+name, s.ask(t, method, s.path(name), "Origin: "+s.base(), "Body:0"), http.StatusMethodNotAllowed)
		}
	}
	opened := s.path("opened")
	wantRefused(t, "GET opened", s.ask(t, "GET", opened), http.StatusMethodNotAllowed)
	for _, origin := range []string{
		"https://ui.perfetto.dev", "null", "", "http://127.0.0.1", "https://" + s.listener.Addr().String(), "http://evil.test", s.base() + "0", s.base() + " http://evil.test",
	} {
		wantRefused(t, "Origin "+origin, s.ask(t, "POST", opened, "Origin: "+origin, "Body:0"), http.StatusForbidden)
	}
	wantRefused(t, "no Origin", s.ask(t, "POST", opened, "Body:0"), http.StatusForbidden)
	for _, body := range []string{"", "1", "-1", "00", "0 ", strings.Repeat("0", 1<<20), "99999999999999999999999"} {
		if got := s.ask(t, "POST", opened, "Origin: "+s.base(), "Body:"+body); got.status != http.StatusBadRequest {
			t.Errorf("body of %d bytes: %d", len(body), got.status)
		}
	}
	select {
	case <-s.trace.HandedOver():
		t.Fatal("a request that was refused had an effect")
	default:
	}
	for range 2 {
		if got := s.ask(t, "POST", opened, "Origin: "+s.base(), "Body:0"); got.status != http.StatusNoContent {
			t.Errorf("own page: %d", got.status)
		}
	}
	<-s.trace.HandedOver()
	// With ssh -L the port differs, also for the page.
	if got := s.ask(t, "POST", opened, "Host: localhost:8000", "Origin: http://localhost:8000", "Body:0"); got.status != http.StatusNoContent {
		t.Errorf("through another port: %d", got.status)
	}
	wantRefused(t, "another loopback name", s.ask(t, "POST", opened, "Host: localhost:8000", "Origin: http://127.0.0.1:8000", "Body:0"), http.StatusForbidden)
}

// A trace that is not ready cannot have been handed over.
func TestOpenedTooEarly(t *testing.T) {
	s := startServer(t, Options{})
	if got := s.ask(t, "POST", s.path("opened"), "Origin: "+s.base(), "Body:0"); got.status != http.StatusBadRequest {
		t.Errorf("%d", got.status)
	}
	wantRefused(t, "its bytes", s.ask(t, "GET", s.path("trace/0")), http.StatusNotFound)
}

// Rule 6: no other origin may read anything, even with the secret, unless the server is direct: then the UI may read the trace.
func TestCORS(t *testing.T) {
	s := startServer(t, Options{})
	s.ready()
	direct := startServer(t, Options{Direct: true})
	direct.ready()
	origins := []string{"Origin: https://ui.perfetto.dev", "Origin: https://evil.test", "Origin: null"}
	for _, origin := range origins {
		for _, name := range []string{"", "trace/0", "opened", "x"} {
			for _, method := range []string{"GET", "OPTIONS", "POST"} {
				got := s.ask(t, method, s.path(name), origin, "Access-Control-Request-Method: GET", "Access-Control-Request-Private-Network: true")
				for header := range got.header {
					if strings.HasPrefix(header, "Access-Control-") {
						t.Errorf("%s %q with %s: %s", method, name, origin, header)
					}
				}
			}
		}
		got := direct.ask(t, "GET", direct.path(directName), origin)
		if got.header.Get("Access-Control-Allow-Origin") != DefaultUI || got.header.Get("Vary") != "Origin" || got.body != s.content {
			t.Errorf("direct with %s: %+v", origin, got)
		}
	}
	// A direct server serves nothing else.
	for _, name := range []string{"", "events", "opened", "trace/0"} {
		wantRefused(t, "direct "+name, direct.ask(t, "GET", direct.path(name)), http.StatusNotFound)
	}
	wantRefused(t, "direct, wrong secret", direct.ask(t, "GET", "/"+s.secret+"/"+directName, origins[0]), http.StatusNotFound)
	wantRefused(t, "direct, POST /status", direct.ask(t, "POST", "/status", origins[0]), http.StatusNotFound)
	wantRefused(t, "direct, Host", direct.ask(t, "GET", direct.path(directName), "Host: evil.test"), http.StatusForbidden)
}

// A direct server opens the browser at the UI, through an address that others may see. The link reveals nothing about the
// trace.
func TestDirect(t *testing.T) {
	s := startServer(t, Options{Direct: true})
	want := DefaultUI + "/#!/?url=" + s.base() + "/" + s.secret + "/trace.pftrace"
	if s.Address() != want {
		t.Errorf("address %s", s.Address())
	}
	got := s.ask(t, "GET", s.oncePath(t))
	if got.status != http.StatusSeeOther || got.header.Get("Location") != want {
		t.Errorf("%+v", got)
	}
	answers := make(chan answer, 1)
	go func() { answers <- s.ask(t, "GET", s.path(directName)) }() // waits for the conversion
	select {
	case got := <-answers:
		t.Fatalf("before the trace was there: %+v", got)
	case <-time.After(50 * time.Millisecond):
	}
	s.ready()
	if got := <-answers; got.status != http.StatusOK || got.body != s.content {
		t.Errorf("%+v", got)
	}
	<-s.trace.HandedOver()
}

// A trace that the UI has only fetched in part, or requested with HEAD, was not handed over.
func TestDirectInPart(t *testing.T) {
	s := startServer(t, Options{Direct: true})
	s.ready()
	s.ask(t, "HEAD", s.path(directName))
	s.ask(t, "GET", s.path(directName), "Range: bytes=0-1")
	select {
	case <-s.trace.HandedOver():
		t.Error("it was taken for handed over")
	default:
	}
}

// Rule 7: the headers of the page, and of all responses.
func TestHeaders(t *testing.T) {
	s := startServer(t, Options{})
	s.ready()
	for _, path := range []string{s.path(""), s.path("trace/0"), s.path("x"), "/", "/go/x"} {
		got := s.ask(t, "GET", path)
		for header, want := range map[string]string{
			"Referrer-Policy": "no-referrer", "X-Content-Type-Options": "nosniff", "Cache-Control": "no-store", "Cross-Origin-Resource-Policy": "same-origin",
		} {
			if got.header.Get(header) != want {
				t.Errorf("%s: %s is %q", path, header, got.header.Get(header))
			}
		}
		// This header would cut the connection to the UI's tab.
		if value := got.header.Get("Cross-Origin-Opener-Policy"); value != "" {
			t.Errorf("%s: Cross-Origin-Opener-Policy %s", path, value)
		}
	}
	page := s.ask(t, "GET", s.path(""))
	script := element(t, page.body, "script")
	style := element(t, page.body, "style")
	want := "default-src 'none'; script-src " + cspHash([]byte(script)) + "; style-src " + cspHash([]byte(style)) +
		"; connect-src 'self'; frame-src https://ui.perfetto.dev 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
	if got := page.header.Get("Content-Security-Policy"); got != want {
		t.Errorf("the policy is\n%s\nwant\n%s", got, want)
	}
	if got := page.header.Get("Content-Type"); got != "text/html; charset=utf-8" {
		t.Errorf("the page is %s", got)
	}
	// The policy forbids inline styles and handlers.
	if found := regexp.MustCompile(`\s(style|on[a-z]+)\s*=|javascript:`).FindString(strings.Replace(page.body, script, "", 1)); found != "" {
		t.Errorf("the page has %q", found)
	}
	if got := s.ask(t, "GET", s.path("trace/0")).header.Get("Content-Type"); got != "application/octet-stream" {
		t.Errorf("the trace is %s", got)
	}
}

// Only the main page may frame the report. The report runs only the declared script, not other scripts in it, and nothing is
// served before it is made.
func TestReport(t *testing.T) {
	s := startServer(t, Options{})
	s.ready()
	wantRefused(t, "no report", s.ask(t, "GET", s.path("report/0")), http.StatusNotFound)
	const html = `<!doctype html><style>a{}</style><script type="application/json">{}</script><script>b()</script>`
	s.trace.Report(Report{HTML: []byte(html), ScriptHash: "sha256-script", StyleHash: "sha256-style", Span: Window{-1, 1 << 60}, Tracks: []string{"main 7"}})
	got := s.ask(t, "GET", s.path("report/0"))
	if got.body != html || got.header.Get("Content-Type") != "text/html; charset=utf-8" {
		t.Errorf("%+v", got)
	}
	want := "default-src 'none'; script-src 'sha256-script'; style-src 'sha256-style'; img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'self'"
	if policy := got.header.Get("Content-Security-Policy"); policy != want {
		t.Errorf("the policy is\n%s\nwant\n%s", policy, want)
	}
	for _, name := range []string{"report", "report/", "report/1", "report/00", "report/0/"} {
		wantRefused(t, name, s.ask(t, "GET", s.path(name)), http.StatusNotFound)
	}
	wantRefused(t, "POST", s.ask(t, "POST", s.path("report/0")), http.StatusMethodNotAllowed)
	wantRefused(t, "without the secret", s.ask(t, "GET", "/report/0"), http.StatusNotFound)
	if got := listenTo(t, s)(); !strings.Contains(got, `"report":true,"start_ns":"-1","end_ns":"1152921504606846976","tracks":["main 7"]`) {
		t.Errorf("the page hears %s", got)
	}
}

// element returns the text in the only element with a name.
func element(t *testing.T, html, name string) string {
	t.Helper()
	found := regexp.MustCompile(`(?s)<`+name+`>(.*?)</`+name+`>`).FindAllStringSubmatch(html, -1)
	if len(found) != 1 {
		t.Fatalf("%d elements %s", len(found), name)
	}
	return found[0][1]
}

// Rule 9: a client that sends nothing is cut off. Until then it keeps no one out, see TestLockout.
func TestSlowRequests(t *testing.T) {
	s := startServer(t, Options{})
	server := newHTTPServer(s)
	if server.ReadHeaderTimeout != 10*time.Second || server.ReadTimeout != 10*time.Second || server.IdleTimeout != 10*time.Second || server.WriteTimeout != 10*time.Second || server.MaxHeaderBytes > 1<<16 {
		t.Errorf("%+v", server)
	}
	recording.NeedAll(t, "a time-out takes ten seconds")
	slow := []net.Conn{
		dial(t, s.listener, "GET / HTT"),
		dial(t, s.listener, "POST /status HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 100\r\n\r\nabc"),
		dial(t, s.listener, "GET "+s.path("")+" HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"), // and then nothing
	}
	began := time.Now()
	for i, c := range slow {
		c.SetReadDeadline(began.Add(15 * time.Second))
		if _, err := io.Copy(io.Discard, c); err != nil {
			t.Errorf("connection %d: %v", i, err)
		}
	}
}

// A page that listens to events stays connected beyond the time-out for requests.
func TestEventsOutliveTimeout(t *testing.T) {
	recording.NeedAll(t, "a time-out takes ten seconds")
	s := startServer(t, Options{})
	events := listenTo(t, s)
	events()
	time.Sleep(readTimeout + time.Second)
	s.trace.Progress(1, 2)
	if got := events(); !strings.Contains(got, `"read":1`) {
		t.Errorf("got %s", got)
	}
}

// listenTo listens to the events; the returned function waits for the next one.
func listenTo(t *testing.T, s *testServer) func() string {
	t.Helper()
	response, err := http.Get(s.root() + "events")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { response.Body.Close() })
	if got := response.Header.Get("Content-Type"); got != "text/event-stream" {
		t.Fatalf("events are %s", got)
	}
	lines := bufio.NewScanner(response.Body)
	return func() string {
		var event []string
		for lines.Scan() {
			if lines.Text() == "" {
				break
			}
			event = append(event, lines.Text())
		}
		return strings.Join(event, "\n")
	}
}

// Rule 9: the user can have sixteen connections; the next one waits until one ends.
func TestConnections(t *testing.T) {
	s := startServer(t, Options{})
	var open []net.Conn
	for range maxConnections {
		c := dial(t, s.listener, "GET "+s.path("")+" HTTP/1.1\r\nHost: localhost\r\n\r\n")
		if _, err := http.ReadResponse(bufio.NewReader(c), nil); err != nil {
			t.Fatal(err)
		}
		open = append(open, c)
	}
	statuses := make(chan int, 1)
	go func() { statuses <- s.ask(t, "GET", "/").status }()
	select {
	case status := <-statuses:
		t.Fatalf("connection %d was answered: %d", maxConnections+1, status)
	case <-time.After(4 * grace):
	}
	open[3].Close()
	if status := <-statuses; status != http.StatusNotFound {
		t.Errorf("%d", status)
	}
}

// dial connects to a listener and writes a text.
func dial(t *testing.T, l net.Listener, text string) net.Conn {
	t.Helper()
	c, err := net.Dial("tcp4", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	c.SetDeadline(time.Now().Add(15 * time.Second))
	io.WriteString(c, text) // a connection that is refused at once may be closed already
	return c
}

// Rule 9: clients without the secret cannot keep out clients with it: neither by silent connections, nor by connections that
// start a request or send many, nor by opening new ones once these are closed.
func TestLockout(t *testing.T) {
	for name, text := range map[string]string{
		"silent": "", "half a request": "GET / HTTP/1.1\r\nHost: localhost\r\n", "a body that does not come": "POST /status HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9\r\n\r\n",
		"asks again": "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n",
	} {
		t.Run(name, func(t *testing.T) {
			s := startServer(t, Options{})
			s.ready()
			events := listenTo(t, s)
			events()
			attack(t, s.listener, text)
			for range 5 {
				if got := s.ask(t, "GET", s.path("trace/0")); got.body != s.content {
					t.Fatalf("the user got %+v", got)
				}
			}
			s.trace.Progress(1, 2)
			if got := events(); !strings.Contains(got, `"read":1`) {
				t.Errorf("the page heard %q", got)
			}
		})
	}
}

// attack opens twice as many connections as allowed, and new ones when they are closed, until the test ends. It writes the
// text to each every 100 ms.
func attack(t *testing.T, l net.Listener, text string) {
	ctx, stop := context.WithCancel(t.Context())
	var attackers sync.WaitGroup
	t.Cleanup(func() { stop(); attackers.Wait() })
	var connected atomic.Int64
	for range 2 * maxConnections {
		attackers.Go(func() {
			for ctx.Err() == nil {
				attackOnce(ctx, l, text, &connected)
			}
		})
	}
	for connected.Load() < 2*maxConnections {
		time.Sleep(time.Millisecond)
	}
}

// attackOnce attacks over one connection until it is closed.
func attackOnce(ctx context.Context, l net.Listener, text string, connected *atomic.Int64) {
	c, err := net.Dial("tcp4", l.Addr().String())
	if err != nil {
		return
	}
	defer c.Close()
	connected.Add(1)
	closed := make(chan struct{})
	go func() {
		defer close(closed)
		io.Copy(io.Discard, c)
	}()
	for again := time.NewTicker(100 * time.Millisecond); ; {
		io.WriteString(c, text)
		select {
		case <-again.C:
		case <-closed:
			again.Stop()
			return
		case <-ctx.Done():
			return
		}
	}
}

// Rule 9: a refusal is the last response on its connection, so that a client that sends requests but never reads cannot fill
// the connection with responses.
func TestRefusalEndsConnection(t *testing.T) {
	s := startServer(t, Options{UI: openUI(t, uiFolder(t, map[string]string{"index.html": "x"}))})
	for _, l := range []net.Listener{s.listener, s.ui} {
		for _, request := range []string{"GET /none HTTP/1.1\r\nHost: localhost\r\n\r\n", "GET /none HTTP/1.1\r\nHost: evil.test\r\n\r\n", "GET /go/x HTTP/1.1\r\nHost: localhost\r\n\r\n"} {
			c := dial(t, l, strings.Repeat(request, 1000))
			text, _ := io.ReadAll(c) // a reset is fine too
			answers, closes := bytes.Count(text, []byte("HTTP/1.1 ")), bytes.Count(text, []byte("Connection: close\r\n"))
			if answers > 1 || closes != answers {
				t.Errorf("%q: %d answers, %d of which close the connection", request, answers, closes)
			}
		}
	}
}

// Rule 9: the files of a UI are not secret, but a client that does not read its response makes room for others.
func TestUILockout(t *testing.T) {
	s := startServer(t, Options{UI: openUI(t, uiFolder(t, map[string]string{"index.html": "x", "large.js": strings.Repeat("x", 32<<20)}))})
	for range 2 * maxConnections {
		dial(t, s.ui, "GET /large.js HTTP/1.1\r\nHost: localhost\r\n\r\n")
	}
	if got := askAt(t, portOf(s.ui), "GET", "/"); got.body != "x" {
		t.Errorf("%d %q", got.status, got.body)
	}
}

// uiFolder creates a folder with the files of a UI.
func uiFolder(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// Rule 9: the length of headers is limited.
func TestLongHeaders(t *testing.T) {
	s := startServer(t, Options{})
	c, err := net.Dial("tcp4", s.listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	fmt.Fprintf(c, "GET %s HTTP/1.1\r\nHost: localhost\r\nX: %s\r\n\r\n", s.path(""), strings.Repeat("x", 2*maxHeader))
	line, err := bufio.NewReader(c).ReadString('\n')
	if want := "HTTP/1.1 431 Request Header Fields Too Large\r\n"; line != want {
		t.Errorf("%q, %v", line, err)
	}
}

// The page receives the list of traces, the progress of conversions, and the end of the program.
func TestEvents(t *testing.T) {
	s := startServer(t, Options{})
	second := s.Add("</script>\u202e.json")
	events := listenTo(t, s)
	const commands = `%5B%7B%22id%22%3A%22dev.perfetto.PinTracksByRegex%22%2C%22args%22%3A%5B%22a%5C%22b%5Cu0026c%22%2C%22name%22%5D%7D%5D`
	want := func(traces string) {
		t.Helper()
		if got := events(); got != `data: {"ui":"https://ui.perfetto.dev/","traces":[`+traces+`]}` {
			t.Errorf("got %s", got)
		}
	}
	const other = `,{"name":"\u003c/script\u003e` + "\u202e" + `.json","state":"waiting","read":0,"size":-1,"arguments":"mode=embedded"}`
	want(`{"name":"trace.json","state":"waiting","read":0,"size":-1,"arguments":"mode=embedded"}` + other)
	s.trace.Progress(5, 10)
	want(`{"name":"trace.json","state":"converting","read":5,"size":10,"arguments":"mode=embedded"}` + other)
	s.trace.Ready(Content{strings.NewReader("abc"), 3, "x.pftrace"}, FirstView{
		Window: &Window{-5, 2_000_000_000}, Event: &Event{9007199254740993, 1}, Commands: []Command{PinNames(`a"b&c`)},
	})
	want(`{"name":"trace.json","state":"ready","read":5,"size":10,"bytes":3,"file_name":"x.pftrace","arguments":` +
		`"mode=embedded\u0026visStart=-5\u0026visEnd=2000000000\u0026ts=9007199254740993\u0026dur=1\u0026startupCommands=` + commands +
		`","scroll":{"start":-5e-9,"end":2}}` + other)
	second.Failed("why")
	<-second.FailureShown()
	if got := events(); !strings.Contains(got, `"state":"failed","read":0,"size":-1,"failure":"why"`) {
		t.Errorf("got %s", got)
	}
	go s.Close()
	events()
	if got := events(); got != "event: end\ndata:" {
		t.Errorf("got %q", got)
	}
}

// A port in use is an error that the caller can recognise.
func TestPortInUse(t *testing.T) {
	s := startServer(t, Options{})
	if _, err := Listen(Options{Port: portOf(s.listener), UI: openUI(t, DefaultUI)}); err == nil || os.IsTimeout(err) {
		t.Errorf("error %v", err)
	}
}

// Connections are refused once the server has ended.
func TestEnd(t *testing.T) {
	s, err := Listen(Options{UI: openUI(t, DefaultUI)})
	if err != nil {
		t.Fatal(err)
	}
	trace := s.Add("x")
	trace.Progress(0, 1) // it never becomes ready
	ctx, cancel := context.WithCancel(t.Context())
	served := make(chan error, 1)
	go func() { served <- s.Serve(ctx) }()
	events := listenTo(t, &testServer{Server: s})
	events()
	cancel()
	if err := <-served; err != nil {
		t.Error(err)
	}
	if c, err := net.Dial("tcp4", s.listener.Addr().String()); err == nil {
		c.Close()
		t.Error("it still listens")
	}
}
