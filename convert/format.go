package convert

import (
	"errors"
	"fmt"
	"strings"

	"github.com/weft-trace/weft/internal/suggest"
)

// Format names an input format.
type Format uint8

// The formats. FormatAuto finds out by looking at the content of the input, never at a file's name.
const (
	FormatAuto Format = iota
	FormatChromeJSON
	FormatPerfetto
	FormatCPUProfile
	FormatFirefox
	FormatJSProfile
	FormatProbes
)

var formats = [...]struct {
	name string // on the command line and in reports
	what string // for sentences, with article
}{
	FormatAuto:       {"auto", "any trace"},
	FormatChromeJSON: {"chrome-json", "a Chrome JSON trace"},
	FormatPerfetto:   {"perfetto", "a Perfetto trace"},
	FormatCPUProfile: {"cpuprofile", "a V8 CPU profile"},
	FormatFirefox:    {"firefox", "a Firefox profile"},
	FormatJSProfile:  {"jsprofile", "a JS self-profile"},
	FormatProbes:     {"probes", "a file of probe lines"},
}

// String returns the name that ParseFormat understands, for example "chrome-json".
func (f Format) String() string {
	if int(f) < len(formats) {
		return formats[f].name
	}
	return fmt.Sprintf("Format(%d)", uint8(f))
}

// MarshalText returns the name.
func (f Format) MarshalText() ([]byte, error) { return []byte(f.String()), nil }

// UnmarshalText is ParseFormat.
func (f *Format) UnmarshalText(text []byte) error {
	parsed, err := ParseFormat(string(text))
	if err == nil {
		*f = parsed
	}
	return err
}

// ParseFormat returns the format with the given name; "auto" is FormatAuto.
func ParseFormat(name string) (Format, error) {
	for f := range formats {
		if formats[f].name == name {
			return Format(f), nil
		}
	}
	return FormatAuto, suggest.Unknown("format", name, SupportedFormats())
}

// SupportedFormats returns the names of the formats, "auto" first.
func SupportedFormats() []string {
	var names []string
	for _, f := range formats {
		names = append(names, f.name)
	}
	return names
}

// ErrUnknownFormat is the error (possibly wrapped) for an input whose content is none of the formats.
var ErrUnknownFormat = errors.New("unknown format")

// supportedSentence lists what can be read: "Chrome JSON traces, … and files of probe lines".
func supportedSentence() string {
	var names []string
	for _, f := range formats[FormatAuto+1:] {
		what := strings.TrimPrefix(f.what, "a ")
		if kind, of, ok := strings.Cut(what, " of "); ok {
			names = append(names, kind+"s of "+of)
		} else {
			names = append(names, what+"s")
		}
	}
	last := len(names) - 1
	return strings.Join(names[:last], ", ") + " and " + names[last]
}
