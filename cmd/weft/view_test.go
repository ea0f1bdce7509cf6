package main

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/weft-trace/weft/convert"
	"github.com/weft-trace/weft/internal/view"
)

// viewer is a program for $BROWSER in scripts. It does what the page does, without a browser: it listens to the events,
// fetches the traces into the files viewed.0, viewed.1, …, and reports that it has handed them over. It writes whatever else
// it learned to the file viewed.txt.
func viewer() {
	if err := viewAddress(os.Args[len(os.Args)-1]); err != nil {
		fmt.Fprintln(os.Stderr, "viewer:", err)
		os.Exit(1)
	}
}

func viewAddress(file string) error {
	u, err := url.Parse(file)
	if err != nil {
		return err
	}
	page, err := os.ReadFile(u.Path)
	if err != nil {
		return err
	}
	_, once, _ := strings.Cut(string(page), "; url=")
	once, _, _ = strings.Cut(once, `"`)
	client := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	response, err := client.Get(once)
	if err != nil {
		return err
	}
	response.Body.Close()
	location, err := response.Location()
	if err != nil || response.StatusCode != http.StatusSeeOther {
		return fmt.Errorf("%s: %s, %w", once, response.Status, err)
	}
	if args, ok := strings.CutPrefix(location.Fragment, "!/?url="); ok {
		return viewDirect(location.String(), args)
	}
	return viewPage(location.String())
}

// viewDirect does what the UI does with a link to a trace.
func viewDirect(link, address string) error {
	request, err := http.NewRequest(http.MethodGet, address, nil)
	if err != nil {
		return err
	}
	request.Header.Set("Origin", view.DefaultUI)
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	trace, err := io.ReadAll(response.Body)
	if err != nil {
		return err
	}
	link, _, _ = strings.Cut(link, "127.0.0.1")
	text := fmt.Sprintf("link %s\nallowed %s\n", link, response.Header.Get("Access-Control-Allow-Origin"))
	return errors.Join(os.WriteFile("viewed.0", trace, 0o666), note([]byte(text)))
}

// viewPage does what weft's page does.
func viewPage(page string) error {
	response, err := http.Get(page + "events")
	if err != nil {
		return err
	}
	defer response.Body.Close()
	var text bytes.Buffer
	done := map[int]bool{}
	for lines := bufio.NewScanner(response.Body); lines.Scan(); {
		data, ok := strings.CutPrefix(lines.Text(), "data: ")
		if !ok {
			continue
		}
		var state struct {
			UI     string
			Traces []struct {
				Name, State, Failure, Arguments string
			}
		}
		if err := json.Unmarshal([]byte(data), &state); err != nil {
			return err
		}
		for i, t := range state.Traces {
			if done[i] || t.State != "ready" && t.State != "failed" {
				continue
			}
			done[i] = true
			fmt.Fprintf(&text, "%s%s: %s %s%s\n", state.UI, t.Name, t.State, t.Arguments, t.Failure)
			if err := note(text.Bytes()); err != nil { // weft may end as soon as it is notified
				return err
			}
			if t.State == "ready" {
				if err := fetchAndOpen(page, i); err != nil {
					return err
				}
			}
		}
		if len(done) == len(state.Traces) {
			return nil
		}
	}
	return errors.New("the events have ended")
}

// note writes viewed.txt, which appears only once it is complete.
func note(text []byte) error {
	return errors.Join(os.WriteFile("viewed.tmp", text, 0o666), os.Rename("viewed.tmp", "viewed.txt"))
}

func fetchAndOpen(page string, i int) error {
	response, err := http.Get(fmt.Sprintf("%strace/%d", page, i))
	if err != nil {
		return err
	}
	defer response.Body.Close()
	trace, err := io.ReadAll(response.Body)
	if err != nil {
		return err
	}
	if err := os.WriteFile(fmt.Sprintf("viewed.%d", i), trace, 0o666); err != nil {
		return err
	}
	request, err := http.NewRequest(http.MethodPost, page+"opened", strings.NewReader(fmt.Sprint(i)))
	if err != nil {
		return err
	}
	request.Header.Set("Origin", "http://"+request.URL.Host)
	opened, err := http.DefaultClient.Do(request)
	if err == nil {
		opened.Body.Close()
	}
	return err
}

// A browser saves a trace under the name that convert gives it, and a Perfetto trace under its own.
func TestViewFileName(t *testing.T) {
	for _, test := range []struct {
		name, output    string
		converted, asIs bool
		want            string
	}{
		{"a/x.json.gz", "", true, false, "x.json.gz.pftrace"},
		{"-", "", true, false, "stdin.pftrace"},
		{"-", "", false, true, "stdin.pftrace"},
		{"a/x.pftrace.gz", "", false, true, "x.pftrace.gz"},
		{"a/x.pftrace.zst", "", false, false, "x.pftrace"},
		{"a/x.perfetto-trace.zip", "", false, false, "x.perfetto-trace"},
		{"a/x.zip", "", false, false, "x.pftrace"},
		{"a/x.json", "b/y.pftrace", true, false, "y.pftrace"},
		{"a/x.pftrace", "", true, false, "x.pftrace"}, // with --attribute, for example
		{"a/x.pftrace.gz", "", true, false, "x.pftrace"},
		{"a/x.perfetto-trace", "", true, false, "x.perfetto-trace"},
		{"a/x.pftrace", "", false, false, "x.pftrace"}, // a zip by its content
	} {
		v := &viewing{viewJob: &viewJob{output: test.output}}
		if got := v.fileName(test.name, test.converted, test.asIs); got != test.want {
			t.Errorf("%s: %s, want %s", test.name, got, test.want)
		}
	}
}

// A trace that is too long for a page is compressed; if that is not enough, it is rejected with advice.
func TestTooLongForPage(t *testing.T) {
	noise := make([]byte, 3<<20)
	rand.NewChaCha8([32]byte{}).Read(noise)
	var packed bytes.Buffer
	w := gzip.NewWriter(&packed)
	w.Write(noise)
	w.Close()
	const most = 2 << 20
	for _, test := range []struct {
		trace  []byte
		direct bool
		files  int
		want   string
	}{
		{noise, false, 1, "x.json: trace is 3.0 MiB, a page can hand over 2.0 MiB: use --direct"},
		{noise, false, 2, "x.json: trace is 3.0 MiB, a page can hand over 2.0 MiB: view it alone, with --direct"},
		{noise[:most+1], false, 1, "x.json: trace is 3 MiB, a page can hand over 2 MiB: use --direct"},
		{packed.Bytes(), false, 1, "x.json: trace is 3.0 MiB, a page can hand over 2.0 MiB: use --direct"},
		{noise[:most], false, 1, "as it is"},
		{noise, true, 1, "as it is"},
		{make([]byte, most+1), false, 1, "packed"},
		{nil, false, 1, "x.json: the trace is empty"},
	} {
		v := &viewing{viewJob: &viewJob{direct: test.direct, files: make([]string, test.files)}, handover: most}
		v.opts.TempDir = t.TempDir()
		made := &stored{ReaderAt: bytes.NewReader(test.trace), size: int64(len(test.trace))}
		shown, err := v.fit(t.Context(), "x.json", made, &progress{})
		got := "as it is"
		switch {
		case err != nil:
			got = err.Error()
		case shown != made:
			got = "packed"
			if unpacked, err := gzip.NewReader(shown.reader()); err != nil {
				t.Error(err)
			} else if text, err := io.ReadAll(unpacked); err != nil || !bytes.Equal(text, test.trace) {
				t.Errorf("what is packed comes back as %d bytes, %v", len(text), err)
			}
		}
		if got != test.want {
			t.Errorf("%d bytes, direct %t, %d files: %q, want %q", len(test.trace), test.direct, test.files, got, test.want)
		}
		for _, c := range v.close {
			c.Close()
		}
	}
}

// listening returns a server that is closed when the test ends.
func listening(t *testing.T) *view.Server {
	t.Helper()
	ui, err := view.OpenUI(view.DefaultUI)
	if err != nil {
		t.Fatal(err)
	}
	server, err := view.Listen(view.Options{UI: ui})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { server.Close() })
	return server
}

// If an opened browser does not connect, because it cannot read the file that leads it to the server, weft does not wait
// silently.
func TestBrowserDoesNotCome(t *testing.T) {
	server := listening(t)
	var printed bytes.Buffer
	v := &viewing{viewJob: &viewJob{env: &environment{stderr: &printed}}, server: server}
	v.awaitBrowser(t.Context(), 0)
	if want := "The browser has not opened the page; open the address above in it.\n"; printed.String() != want {
		t.Errorf("%q", &printed)
	}
}

// Files that could not be converted are closed before the end.
func TestFailedViewKeepsNothing(t *testing.T) {
	name := filepath.Join(t.TempDir(), "x.json")
	if err := os.WriteFile(name, []byte("{neither"), 0o666); err != nil {
		t.Fatal(err)
	}
	server := listening(t)
	env := &environment{stderr: io.Discard, isTerminal: func(io.Writer) bool { return false }}
	v := &viewing{viewJob: &viewJob{env: env, files: []string{name}, quiet: true}, server: server}
	if err := v.prepare(t.Context(), server.Add("x.json"), name); err == nil || len(v.close) != 0 {
		t.Errorf("error %v; %d files are open", err, len(v.close))
	}
}

// The first view shows the busiest part of the timeline, pins the tracks of the pages with the most events, and expands all
// tracks if there are few processes.
func TestFirstView(t *testing.T) {
	events := func(processes int, work string) string {
		b := new(strings.Builder)
		fmt.Fprint(b, `[{"ph":"b","cat":"c","id":"1","name":"navigation","ts":0,"pid":1,"tid":1},{"ph":"e","cat":"c","id":"1","name":"navigation","ts":10000000,"pid":1,"tid":1}`)
		for pid := range processes {
			fmt.Fprintf(b, `,{"ph":"M","name":"thread_name","pid":%d,"tid":%[1]d,"ts":0,"args":{"name":%q}}`, pid+1, work)
			for i := range 100 * (pid + 1) {
				fmt.Fprintf(b, `,{"ph":"X","name":"n","ts":%d,"dur":10,"pid":%d,"tid":%[2]d}`, 8_000_000+i*1000, pid+1)
			}
		}
		return b.String() + "]"
	}
	const expand = `dev.perfetto.ExpandTracksByRegex ^(?!System$)(?:(?! > ).)*$ path`
	const pin = `dev.perfetto.PinTracksByRegex  > \(contexts and states\) \((%s)\) > (Long tasks|Context: .*) \(\d+\)$ path`
	for _, c := range []struct {
		name, input string
		want        []string
	}{
		{"one process", events(1, "main"), []string{"7.97-8.12", expand}},
		{"a page", events(1, "CrRendererMain"), []string{"7.97-8.12", expand, fmt.Sprintf(pin, "1")}},
		{"many pages", events(5, "CrRendererMain"), []string{"7.97-8.52", fmt.Sprintf(pin, "5|4|3")}},
		{"busy all the time", `[{"ph":"X","name":"n","ts":0,"dur":10,"pid":1,"tid":1},{"ph":"X","name":"n","ts":1000,"dur":10,"pid":1,"tid":1}]`, []string{expand}},
		{"one moment", `[{"ph":"i","name":"n","ts":5,"pid":1,"tid":1}]`, []string{expand}},
		{"nothing", `[]`, []string{expand}},
	} {
		_, first, err := convertToLookAt(t.Context(), io.Discard, strings.NewReader(c.input), convert.Options{TempDir: t.TempDir()}, nil)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		if w := first.Window; w != nil {
			got = append(got, fmt.Sprintf("%.2f-%.2f", float64(w.Start)/1e9, float64(w.End)/1e9))
		}
		for _, command := range first.Commands {
			got = append(got, command.ID+" "+strings.Join(command.Args, " "))
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s: -want +got:\n%s", c.name, diff)
		}
	}
}
