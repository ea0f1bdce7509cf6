// Package screenshot reads the pictures of screenshots, which Chrome and Firefox write as base64, and has the name and category by
// which Perfetto's viewer finds them (perfetto.md 11).
package screenshot

import (
	"bytes"
	"encoding/base64"

	"github.com/weft-trace/weft/internal/problem"
)

// Name and Category are those of an event whose picture the viewer shows.
const (
	Name     = "Screenshot"
	Category = "android_screenshot"
)

// MaxSize is the size of the largest picture that is kept, in bytes.
const MaxSize = 16 << 20

// MaxText is the length of the base64 of the largest picture, with the head of a data URL.
const MaxText = MaxSize/3*4 + 64

// Decode appends the picture that text holds, base64 or a data URL of it, to buf. If it is not a picture that can be shown, the
// problem says why.
func Decode(buf, text []byte) (picture []byte, why problem.Kind, ok bool) {
	if head, data, isURL := bytes.Cut(text, []byte(";base64,")); isURL && bytes.HasPrefix(head, []byte("data:")) {
		text = data
	}
	if len(text) > MaxText {
		return nil, problem.ScreenshotOmitted, false
	}
	start := len(buf)
	buf, err := base64.StdEncoding.AppendDecode(buf, text)
	picture = buf[start:]
	switch {
	case err != nil || len(picture) == 0:
		return nil, problem.ScreenshotInvalid, false
	case !IsJPEG(picture):
		return nil, problem.ScreenshotNotJPEG, false
	}
	return picture, 0, true
}

// IsJPEG reports whether a picture begins as JPEG does.
func IsJPEG(picture []byte) bool { return bytes.HasPrefix(picture, []byte{0xff, 0xd8, 0xff}) }

// IsOmitted reports whether the picture of a text is left out rather than kept as text.
func IsOmitted(why problem.Kind) bool { return why == problem.ScreenshotOmitted }
