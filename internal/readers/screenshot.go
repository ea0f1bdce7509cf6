package readers

import (
	"bytes"
	"encoding/base64"

	"github.com/weft-trace/weft/internal/problem"
)

// ScreenshotName and ScreenshotCategory belong to an event whose picture Perfetto's viewer shows (perfetto.md 11).
const (
	ScreenshotName     = "Screenshot"
	ScreenshotCategory = "android_screenshot"
)

// MaxScreenshot is the size of the largest picture that is kept, in bytes.
const MaxScreenshot = 16 << 20

// MaxScreenshotText is the length of the base64 of the largest picture, with the head of a data URL.
const MaxScreenshotText = MaxScreenshot/3*4 + 64

// DecodeScreenshot appends the picture that text holds, base64 or a data URL of it, to buf. If it is not a picture that can be shown, the
// problem says why.
func DecodeScreenshot(buf, text []byte) (picture []byte, why problem.Kind, ok bool) {
	if head, data, isURL := bytes.Cut(text, []byte(";base64,")); isURL && bytes.HasPrefix(head, []byte("data:")) {
		text = data
	}
	if len(text) > MaxScreenshotText {
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
