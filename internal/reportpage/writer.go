package reportpage

import (
	"bytes"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/weft-trace/weft/internal/words"
)

// markup is text that is already HTML. All other text is escaped when it is written.
type markup string

// writer writes HTML. Texts from the input get into a page only as arguments of p, which cleans and escapes them.
type writer struct {
	bytes.Buffer
	keepURLs bool
}

// p formats markup as fmt does. It cleans and escapes strings, and writes arguments of type markup as they are. Only the verbs %s, %d and %v
// make sense.
func (w *writer) p(format string, args ...any) {
	for i, a := range args {
		if text, ok := a.(string); ok {
			args[i] = w.text(text)
		}
	}
	fmt.Fprintf(w, format, args...)
}

// text returns a text from the input as markup.
func (w *writer) text(text string) markup { return escape(w.clean(text)) }

// maxName is the number of characters to which texts from the input are truncated.
const maxName = 200

// clean removes secrets from urls in a text from the input, truncates it to maxName, and escapes the characters of
// words.Special, which are invisible or change the display of text around them, and bytes that are not UTF-8.
func (w *writer) clean(text string) string {
	if !w.keepURLs {
		text = hideQueries(text)
	}
	var b strings.Builder
	n := 0
	for len(text) > 0 {
		if n == maxName {
			b.WriteString("…")
			break
		}
		r, size := utf8.DecodeRuneInString(text)
		switch {
		case r == utf8.RuneError && size == 1:
			fmt.Fprintf(&b, `\x%02x`, text[0])
		case r == '\t' || r == '\n' || r == '\r':
			b.WriteByte(' ')
		case words.Special(r):
			b.WriteString(words.Printable(string(r)))
		default:
			b.WriteRune(r)
		}
		text = text[size:]
		n++
	}
	return b.String()
}

// escape returns a text as markup, for content and for attributes in double quotes.
func escape(text string) markup { return markup(escaper.Replace(text)) }

var escaper = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", `"`, "&#34;", "'", "&#39;")

// hideQueries removes queries, fragments, user names and the content of data: urls from a text, because people share pages. A relative url has a
// path that starts with a slash. The line and column after a url stay: "https://a.example/x.js?…:12:5".
func hideQueries(text string) string {
	if i := dataURL(text); i >= 0 {
		url, place := cutPlace(text[i:]) // a data: url may contain any character
		if comma := strings.IndexByte(url, ','); comma >= 0 && comma+1 < len(url) {
			url = url[:comma+1] + "…"
		}
		return hideQueries(text[:i]) + url + place
	}
	var b strings.Builder
	for {
		word := endOfWord(text)
		b.WriteString(hideQuery(text[:word]))
		if text = text[word:]; text == "" {
			return b.String()
		}
		_, size := utf8.DecodeRuneInString(text)
		b.WriteString(text[:size])
		text = text[size:]
	}
}

// endOfWord returns the end of a word that may be a url. Spaces, quotes and angle brackets end it, because no url contains them; an apostrophe does
// not.
func endOfWord(text string) int {
	if i := strings.IndexFunc(text, func(r rune) bool { return unicode.IsSpace(r) || r == '"' || r == '<' || r == '>' }); i >= 0 {
		return i
	}
	return len(text)
}

// hideQuery hides secrets in a word that contains a url. A word without a scheme counts as a url if it starts like a path or has
// a query with a value.
func hideQuery(word string) string {
	begin, isURL := 0, false
	if i := strings.Index(word, "://"); i >= 0 {
		begin, isURL = i+3, true
	} else if i := strings.IndexFunc(word, func(r rune) bool { return !unicode.IsPunct(r) || r == '/' }); i >= 0 && word[i] == '/' {
		if begin, isURL = i, true; strings.HasPrefix(word[i:], "//") {
			begin = i + 2
		}
	} else if q := strings.IndexByte(word, '?'); q >= 0 && strings.IndexByte(word[q:], '=') > 0 {
		isURL = true
	}
	if !isURL {
		return word
	}
	url, place := cutPlace(word[begin:])
	url = hideUser(url)
	if q := strings.IndexAny(url, "?#"); q >= 0 && q+1 < len(url) {
		url = url[:q] + "?…"
	}
	return word[:begin] + url + place
}

// hideUser removes the user name and password from a url without a scheme.
func hideUser(url string) string {
	end := strings.IndexAny(url, "/?#")
	if end < 0 {
		end = len(url)
	}
	if at := strings.LastIndexByte(url[:end], '@'); at >= 0 {
		return "…" + url[at:]
	}
	return url
}

// dataURL returns the start of a data: url; -1 if there is none. "metadata:" does not count.
func dataURL(text string) int {
	for from := 0; ; {
		i := strings.Index(text[from:], "data:")
		if i < 0 {
			return -1
		}
		if i += from; i == 0 || !isWordByte(text[i-1]) {
			return i
		}
		from = i + 1
	}
}

func isWordByte(c byte) bool {
	return c == '-' || c == '.' || c == '_' || '0' <= c && c <= '9' || 'A' <= c && c <= 'Z' || 'a' <= c && c <= 'z'
}

// cutPlace splits the line and column off the end of a url that has a query.
func cutPlace(url string) (rest, place string) {
	end := len(url)
	for range 2 {
		i := strings.LastIndexByte(url[:end], ':')
		if i < 0 || i+1 == end || strings.Trim(url[i+1:end], "0123456789") != "" {
			break
		}
		end = i
	}
	return url[:end], url[end:]
}
