package load

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"
)

// Formats returns all formats, FormatAuto first.
func Formats() []Format {
	return []Format{
		FormatAuto, FormatChromeJSON, FormatPerfetto, FormatCPUProfile, FormatFirefox, FormatJSProfile, FormatProbes, FormatOTLP,
		FormatHAR,
	}
}

// formats contains the names of the formats for use in sentences, each with an article.
var formats = map[Format]string{
	FormatChromeJSON: "a Chrome JSON trace",
	FormatPerfetto:   "a Perfetto trace",
	FormatCPUProfile: "a V8 CPU profile",
	FormatFirefox:    "a Firefox profile",
	FormatJSProfile:  "a JS self-profile",
	FormatProbes:     "a file of probe lines",
	FormatOTLP:       "an OpenTelemetry trace",
	FormatHAR:        "an HTTP archive",
}

// ErrUnknownFormat is the error (possibly wrapped) for an input of no known format.
var ErrUnknownFormat = errors.New("unknown format")

// explained reports whether an error needs no advice about the format: it already has advice, or comes from a file.
func explained(err error) bool {
	var file *fs.PathError
	return hint(err) != nil || errors.As(err, &file)
}

// hint returns the wrapped error that provides advice, or nil.
func hint(err error) interface{ Hint() string } {
	var hinted interface{ Hint() string }
	errors.As(err, &hinted)
	return hinted
}

// ErrorText returns the text of an error, followed by its hint, if any, about helpful flags and commands.
func ErrorText(err error) string {
	if h := hint(err); h != nil {
		return err.Error() + h.Hint()
	}
	return err.Error()
}

// misread is an error from the reader that detection selected.
type misread struct {
	error
	format Format
}

// Unwrap returns the reader's error.
func (e *misread) Unwrap() error { return e.error }

// Hint names the detected format and the flag that overrides it.
func (e *misread) Hint() string {
	return fmt.Sprintf("; it looks like %s: name another format with --format", formats[e.format])
}

// supportedSentence lists the formats as text: "Chrome JSON traces, … and files of probe lines".
func supportedSentence() string {
	var names []string
	for _, f := range Formats()[1:] {
		what := strings.TrimPrefix(strings.TrimPrefix(formats[f], "an "), "a ")
		if kind, content, ok := strings.Cut(what, " of "); ok {
			names = append(names, kind+"s of "+content)
		} else {
			names = append(names, what+"s")
		}
	}
	last := len(names) - 1
	return strings.Join(names[:last], ", ") + " and " + names[last]
}
