package view

import (
	"archive/zip"
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"path"
	"regexp"
	"strings"
)

// DefaultUI is the address of the Perfetto UI.
const DefaultUI = "https://ui.perfetto.dev"

// A UI is a Perfetto UI, either at an address or in files that a Server serves.
type UI struct {
	address string // ends in a slash
	origin  string
	files   *uiFiles // nil: the UI is at an address
}

// OpenUI returns the UI at an address, in a perfetto-ui.zip from a Perfetto release, or in a folder with the contents of such
// a file.
func OpenUI(where string) (*UI, error) {
	if strings.Contains(where, "://") {
		return uiAt(where)
	}
	files, err := openUIFiles(where)
	if err != nil {
		return nil, err
	}
	return &UI{files: files}, nil
}

// IsRelease reports whether a UI is built from Perfetto's source: from ui.perfetto.dev in any version, or in files. What
// such UIs may fetch is known.
func (u *UI) IsRelease() bool { return u.files != nil || u.origin == DefaultUI }

// uiHost matches hosts that are valid in a Content-Security-Policy.
var uiHost = regexp.MustCompile(`^(?:[A-Za-z0-9.-]+|\[[0-9A-Fa-f:]+\])(?::[0-9]{1,5})?$`)

// uiPath matches the paths of UIs, such as older versions on ui.perfetto.dev.
var uiPath = regexp.MustCompile(`^[A-Za-z0-9./_~-]*$`)

// uiAt returns the UI at an address.
func uiAt(address string) (*UI, error) {
	u, err := url.Parse(address)
	switch {
	case err != nil || u.Scheme != "https" && u.Scheme != "http" || !uiHost.MatchString(u.Host):
		return nil, fmt.Errorf("%q is not an address of a web page", address)
	case u.User != nil || u.RawQuery != "" || u.ForceQuery || u.Fragment != "" || !uiPath.MatchString(u.EscapedPath()):
		return nil, fmt.Errorf("%q has more than a host and a path; name the address of the UI, such as %s", address, DefaultUI)
	}
	origin := strings.ToLower(u.Scheme + "://" + u.Host)
	return &UI{address: origin + "/" + strings.TrimLeft(withSlash(u.Path), "/"), origin: origin}, nil
}

func withSlash(path string) string { return strings.TrimSuffix(path, "/") + "/" }

// link returns the address of the UI with arguments, which it reads from the fragment.
func (u *UI) link(arguments string) string { return u.address + "#!/?" + arguments }

// setOrigin sets the origin of the files.
func (u *UI) setOrigin(origin string) { u.origin, u.address = origin, origin+"/" }

// allow lets a UI from files connect to another origin.
func (u *UI) allow(origin string) {
	u.files.policy = strings.Replace(u.files.policy, "connect-src 'self'", "connect-src 'self' "+origin, 1)
}

// Close closes the files of the UI.
func (u *UI) Close() error {
	if u.files == nil {
		return nil
	}
	return u.files.close()
}

// uiFiles provides the files of a UI. It is also the handler that serves them.
type uiFiles struct {
	open   func(name string) (io.ReadCloser, int64, error) // fs.ErrNotExist if there is no such file
	close  func() error
	policy string
}

const (
	indexFile = "index.html"
	maxIndex  = 4 << 20 // bytes
)

// openUIFiles opens an archive or a folder with a UI, and determines its policy.
func openUIFiles(where string) (*uiFiles, error) {
	info, err := os.Stat(where)
	if err != nil {
		return nil, fmt.Errorf("%q is neither a file nor a folder, and not an address such as %s: %w", where, DefaultUI, errors.Unwrap(err))
	}
	f := new(uiFiles)
	switch {
	case info.IsDir():
		err = f.openFolder(where)
	case info.Mode().IsRegular():
		err = f.openArchive(where)
	default: // opening a pipe blocks until something writes to it
		err = errors.New("is neither a file nor a folder")
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", where, err)
	}
	index, err := f.index()
	if err != nil {
		return nil, errors.Join(fmt.Errorf("%s: %w", where, err), f.close())
	}
	f.policy = uiPolicy(index)
	return f, nil
}

// openFolder serves the files below a folder. It does not follow links that lead out of the folder.
func (f *uiFiles) openFolder(where string) error {
	root, err := os.OpenRoot(where)
	if err != nil {
		return err
	}
	f.close = root.Close
	f.open = func(name string) (io.ReadCloser, int64, error) {
		if info, err := root.Stat(name); err != nil || !info.Mode().IsRegular() { // opening a pipe blocks until something writes to it
			return nil, 0, fs.ErrNotExist
		}
		file, err := root.Open(name)
		if err != nil {
			return nil, 0, fs.ErrNotExist
		}
		info, err := file.Stat()
		if err != nil || !info.Mode().IsRegular() {
			return nil, 0, errors.Join(fs.ErrNotExist, file.Close())
		}
		return file, info.Size(), nil
	}
	return nil
}

// openArchive serves the members of an archive by their exact names.
func (f *uiFiles) openArchive(where string) error {
	archive, err := zip.OpenReader(where)
	if err != nil {
		return fmt.Errorf("is neither a folder nor a zip archive of the Perfetto UI: %w", err)
	}
	members := map[string]*zip.File{}
	for _, m := range archive.File {
		if m.Mode().IsRegular() {
			members[m.Name] = m
		}
	}
	f.close = archive.Close
	f.open = func(name string) (io.ReadCloser, int64, error) {
		m := members[name]
		if m == nil {
			return nil, 0, fs.ErrNotExist
		}
		r, err := m.Open()
		return r, int64(m.UncompressedSize64), err
	}
	return nil
}

// index returns the main page of the UI.
func (f *uiFiles) index() ([]byte, error) {
	r, _, err := f.open(indexFile)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, errors.New("has no index.html, so it is not the Perfetto UI; perfetto-ui.zip of a release of Perfetto is, or the folder with its files")
	}
	if err != nil {
		return nil, err
	}
	defer r.Close()
	text, err := io.ReadAll(io.LimitReader(r, maxIndex+1))
	if err == nil && len(text) > maxIndex {
		err = errors.New("its index.html is too large")
	}
	return text, err
}

// uiPolicy returns the policy of a UI from files: it may run its own scripts, and must not talk to anyone else (rule 8).
func uiPolicy(index []byte) string {
	scripts := "'self' 'unsafe-eval'"
	for _, script := range inlineScripts(index) {
		scripts += " " + cspHash(script)
	}
	return "default-src 'self'; script-src " + scripts + "; style-src 'self' 'unsafe-inline'; img-src 'self' data: blob:; font-src 'self'; " +
		"connect-src 'self' data: blob:; worker-src 'self' blob:; object-src 'none'; base-uri 'none'"
}

var (
	scriptBegin = regexp.MustCompile(`(?i)<script(\s[^>]*)?>`)
	scriptEnd   = regexp.MustCompile(`(?i)</script[\s/>]`)
	withSource  = regexp.MustCompile(`(?i)\ssrc\s*=`)
)

// maxInline is the maximum number of inline scripts that a policy allows.
const maxInline = 16

// inlineScripts returns the texts of a page's inline scripts, as an HTML parser reads them.
func inlineScripts(page []byte) (texts [][]byte) {
	for len(texts) < maxInline {
		begin := scriptBegin.FindIndex(page)
		if begin == nil {
			break
		}
		tag := page[begin[0]:begin[1]]
		page = page[begin[1]:]
		end := scriptEnd.FindIndex(page)
		if end == nil {
			break
		}
		if !withSource.Match(tag) {
			texts = append(texts, bytes.ReplaceAll(page[:end[0]], []byte("\r\n"), []byte("\n")))
		}
		page = page[end[0]:]
	}
	return texts
}

// cspHash returns the source expression by which a Content-Security-Policy allows exactly this script or style.
func cspHash(text []byte) string {
	sum := sha256.Sum256(text)
	return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
}

// contentTypes are the types of the UI's files. System tables are not used, because they differ.
var contentTypes = map[string]string{
	".css": "text/css; charset=utf-8", ".html": "text/html; charset=utf-8", ".js": "text/javascript; charset=utf-8",
	".json": "application/json", ".map": "application/json", ".png": "image/png", ".scss": "text/css; charset=utf-8", ".svg": "image/svg+xml",
	".ttf": "font/ttf", ".wasm": "application/wasm", ".woff": "font/woff", ".woff2": "font/woff2", ".ico": "image/x-icon",
}

// ServeHTTP implements http.Handler. It never lists folders.
func (f *uiFiles) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Cache-Control", "no-cache") // the next server on this port may have another UI
	h.Set("Content-Security-Policy", f.policy)
	if !isLoopback(r.Host) {
		refuse(w, http.StatusForbidden)
		return
	}
	name := strings.TrimPrefix(r.URL.Path, "/")
	if name == "" {
		name = indexFile
	}
	if !fs.ValidPath(name) {
		refuse(w, http.StatusNotFound)
		return
	}
	content, size, err := f.open(name)
	if err != nil {
		refuse(w, http.StatusNotFound)
		return
	}
	defer content.Close()
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		h.Set("Allow", "GET, HEAD")
		w.WriteHeader(http.StatusMethodNotAllowed)
		return
	}
	h.Set("Content-Type", "application/octet-stream")
	if known := contentTypes[strings.ToLower(path.Ext(name))]; known != "" {
		h.Set("Content-Type", known)
	}
	h.Set("Content-Length", fmt.Sprint(size))
	if r.Method == http.MethodGet {
		_, _ = io.CopyN(patientWriter{w, writeTimeout}, content, size) // a failure to read or send ends the connection
	}
}
