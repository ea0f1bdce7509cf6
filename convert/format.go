package convert

import (
	"errors"
	"fmt"
	"strings"
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
	name      string // on the command line and in reports
	what      string // for sentences, with article
	supported bool   // this version has a reader for it
}{
	FormatAuto:       {"auto", "any trace", true},
	FormatChromeJSON: {"chrome-json", "a Chrome JSON trace", true},
	FormatPerfetto:   {"perfetto", "a Perfetto trace", true},
	FormatCPUProfile: {"cpuprofile", "a V8 CPU profile", true},
	FormatFirefox:    {"firefox", "a Firefox profile", true},
	FormatJSProfile:  {"jsprofile", "a JS self-profile", true},
	FormatProbes:     {"probes", "a list of probe firings", false},
}

// String returns the name that ParseFormat understands, for example "chrome-json".
func (f Format) String() string {
	if int(f) < len(formats) {
		return formats[f].name
	}
	return fmt.Sprintf("Format(%d)", uint8(f))
}

// Supported reports whether this version of weft reads the format.
func (f Format) Supported() bool { return int(f) < len(formats) && formats[f].supported }

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

// ParseFormat returns the format with the given name; "auto" is FormatAuto. It knows the names of formats that this
// version does not read, see Format.Supported.
func ParseFormat(name string) (Format, error) {
	for f := range formats {
		if formats[f].name == name {
			return Format(f), nil
		}
	}
	return FormatAuto, fmt.Errorf("unknown format %q; use one of %s", name, strings.Join(SupportedFormats(), ", "))
}

// SupportedFormats returns the names of the formats that this version reads, "auto" first.
func SupportedFormats() []string {
	var names []string
	for _, f := range formats {
		if f.supported {
			names = append(names, f.name)
		}
	}
	return names
}

// ErrUnknownFormat is the error (possibly wrapped) for an input whose content is none of the formats.
var ErrUnknownFormat = errors.New("unknown format")

// UnsupportedFormatError is the error for an input whose format is known but not read by this version.
type UnsupportedFormatError struct {
	Format Format
}

func (e *UnsupportedFormatError) Error() string {
	what := fmt.Sprintf("format %s", e.Format)
	if int(e.Format) < len(formats) {
		what = formats[e.Format].what
	}
	return fmt.Sprintf("this is %s; this version of weft does not convert it yet, only %s", what, supportedSentence())
}

// supportedSentence lists what can be read: "Chrome JSON traces and Perfetto traces".
func supportedSentence() string {
	var names []string
	for f := FormatAuto + 1; int(f) < len(formats); f++ {
		if formats[f].supported {
			names = append(names, strings.TrimPrefix(formats[f].what, "a ")+"s")
		}
	}
	if len(names) == 1 {
		return names[0]
	}
	last := len(names) - 1
	return strings.Join(names[:last], ", ") + " and " + names[last]
}
