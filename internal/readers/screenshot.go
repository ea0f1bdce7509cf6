package readers

import (
	"bytes"
	"encoding/base64"

	"github.com/weft-trace/weft/internal/problem"
)

// ScreenshotName and ScreenshotCategory mark events whose pictures Perfetto's viewer shows (perfetto.md 11).
const (
	ScreenshotName     = "Screenshot"
	ScreenshotCategory = "android_screenshot"
)

// MaxScreenshot is the maximum size of a kept picture in bytes.
const MaxScreenshot = 16 << 20

// MaxScreenshotText is the maximum length of such a picture as a base64 data URL.
const MaxScreenshotText = MaxScreenshot/3*4 + 64

// DecodeScreenshot decodes text, which is base64 or a data URL, and appends the picture to buf. If viewers cannot show
// it, reason says why.
func DecodeScreenshot(buf, text []byte) (picture []byte, reason problem.Kind, ok bool) {
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

// IsJPEG reports whether a picture starts like a JPEG.
func IsJPEG(picture []byte) bool { return bytes.HasPrefix(picture, []byte{0xff, 0xd8, 0xff}) }

// IsOmitted reports whether the text of a picture is dropped rather than kept.
func IsOmitted(reason problem.Kind) bool { return reason == problem.ScreenshotOmitted }
