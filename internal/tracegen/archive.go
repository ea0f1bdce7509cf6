package tracegen

import (
	"bufio"
	"fmt"
	"io"
	"strings"
	"time"
)

// Archive configures WriteArchive.
type Archive struct {
	Seed    uint64
	Entries int
}

// entriesOfPage is the number of requests of a generated page.
const entriesOfPage = 50

// WriteArchive writes an HTTP archive as Chrome does: pages that load a document, a script, and what the script requests.
func WriteArchive(w io.Writer, a Archive) error {
	out := bufio.NewWriterSize(w, 1<<20)
	rnd := newRand(a.Seed)
	start := time.Unix(0, spanStart).UTC()
	const form = "2006-01-02T15:04:05.000Z"
	fmt.Fprint(out, `{"log":{"version":"1.2","creator":{"name":"WebInspector","version":"537.36"},"pages":[`)
	pages := min((a.Entries+entriesOfPage-1)/entriesOfPage, 100)
	for page := range pages {
		fmt.Fprintf(out, `%s{"startedDateTime":%q,"id":"page_%d","title":"https://e.org/%d","pageTimings":{"onContentLoad":100.5,"onLoad":200}}`,
			comma(page), start.Add(time.Duration(page*entriesOfPage)*10*time.Millisecond).Format(form), page+1, page)
	}
	fmt.Fprint(out, `],"entries":[`)
	body := strings.Repeat("some text of a body, as pages have it. ", 12)
	for i := range a.Entries {
		page, n := min(i/entriesOfPage, pages-1), i%entriesOfPage
		url, kind, initiator := fmt.Sprintf("https://e.org/api/%d?item=%d", n, rnd.IntN(1000)), "fetch", `{"type":"script","stack":{"callFrames":[{"functionName":"load",`+
			`"scriptId":"7","url":"https://e.org/app.js","lineNumber":12,"columnNumber":34}]}}`
		switch n {
		case 0:
			url, kind, initiator = fmt.Sprintf("https://e.org/%d", page), "document", `{"type":"other"}`
		case 1:
			url, kind, initiator = "https://e.org/app.js", "script", fmt.Sprintf(`{"type":"parser","url":"https://e.org/%d","lineNumber":3}`, page)
		}
		wait := rnd.IntN(90_000)
		fmt.Fprintf(out, `%s{"_initiator":%s,"_priority":"High","_resourceType":%q,"cache":{},"connection":"%d","pageref":"page_%d",`,
			comma(i), initiator, kind, n%6, page+1)
		fmt.Fprintf(out, `"request":{"method":"GET","url":%q,"httpVersion":"h2","headers":[{"name":":authority","value":"e.org"},{"name":"accept","value":"*/*"},`+
			`{"name":"accept-encoding","value":"gzip, deflate, br"},{"name":"user-agent","value":"Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36"}],`+
			`"queryString":[],"cookies":[],"headersSize":-1,"bodySize":0},`, url)
		fmt.Fprintf(out, `"response":{"status":200,"statusText":"","httpVersion":"h2","headers":[{"name":"content-type","value":"application/json"},`+
			`{"name":"cache-control","value":"no-store"},{"name":"date","value":"Tue, 14 Nov 2023 22:13:20 GMT"}],"cookies":[],`+
			`"content":{"size":%d,"mimeType":"application/json","text":%q},"redirectURL":"","headersSize":-1,"bodySize":-1,"_transferSize":512,"_error":null},`,
			len(body), body)
		fmt.Fprintf(out, `"serverIPAddress":"10.0.0.1","startedDateTime":%q,"time":%d.%03d,"timings":{"blocked":1.5,"dns":-1,"ssl":-1,"connect":-1,"send":0.25,`+
			`"wait":%d.%03d,"receive":2.25,"_blocked_queueing":0.5}}`,
			start.Add(time.Duration(i)*10*time.Millisecond).Format(form), 4+wait/1000, wait%1000, wait/1000, wait%1000)
	}
	fmt.Fprint(out, "]}}\n")
	return out.Flush()
}

// comma returns the separator before element i of a list.
func comma(i int) string {
	if i == 0 {
		return ""
	}
	return ","
}
