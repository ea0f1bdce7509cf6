package chromejson

import (
	"bytes"

	"github.com/weft-trace/weft/internal/jsonscan"
	"github.com/weft-trace/weft/internal/readers"
)

// isScreenshot reports whether the event is one of Chrome's screenshots.
func (rd *reader) isScreenshot() bool {
	return string(rd.ev.get(fieldName).name()) == readers.ScreenshotName && bytes.Contains(rd.ev.get(fieldCat).name(), []byte("screenshot")) &&
		rd.ev.get(fieldArgs).kind == jsonscan.Object
}

// screenshot moves the picture from the event's arguments to the prepared event, if viewers can show the picture
// (section 17). The category then becomes an argument. With NoScreenshots, the picture is dropped.
func (rd *reader) screenshot() {
	s := &rd.sub
	s.Reset(rd.ev.get(fieldArgs).text)
	if s.Value(); !seekMember(s, "snapshot") {
		return
	}
	kind, text := s.Scalar()
	if kind != jsonscan.String {
		return
	}
	if !rd.opts.NoScreenshots {
		picture, reason, ok := readers.DecodeScreenshot(rd.picture[:0], text)
		if !ok {
			rd.problem(reason, "")
			if !readers.IsOmitted(reason) {
				return
			}
		}
		if rd.out.Screenshot = picture; ok {
			rd.picture = picture
			rd.out.Category = []byte(readers.ScreenshotCategory)
		}
	}
	rd.encodeAgain(func(jsonscan.Kind, []byte) {
		for key, ok := rd.keptKey(); ok; key, ok = rd.keptKey() {
			if string(key) == "snapshot" {
				rd.S.Skip()
				continue
			}
			rd.Enc.Key(key)
			rd.EncodeNext(1)
		}
	})
	if rd.out.Screenshot != nil {
		rd.weftKey("category")
		rd.Enc.String(rd.ev.get(fieldCat).name())
	}
}
