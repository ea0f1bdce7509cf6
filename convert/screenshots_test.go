package convert_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/proto"

	"github.com/weft-trace/weft/convert"
	pb "github.com/weft-trace/weft/gen/perfetto/protos"
	"github.com/weft-trace/weft/pftrace"
)

// jpeg is recognized as a picture by all programs except viewers.
const jpeg = "\xff\xd8\xff\xe0\x00\x10JFIF\x00 and the rest of the picture"

var jpeg64 = base64.StdEncoding.EncodeToString([]byte(jpeg))

// screenshotEvent returns a screenshot from current (I) or earlier (O) versions of Chrome.
func screenshotEvent(ph, snapshot string) string {
	return fmt.Sprintf(`[{"ph":%q,"name":"Screenshot","cat":"disabled-by-default-devtools.screenshot","pid":1,"tid":1,"ts":5,"s":"t","id":"0x1",`+
		`"args":{"frame_sequence":3,"snapshot":%q}}]`, ph, snapshot)
}

// firefoxScreenshot returns a profile with a CompositorScreenshot.
func firefoxScreenshot(url string) string {
	return fmt.Sprintf(`{"meta":{"version":34,"startTime":1000,"interval":1,"categories":[{"name":"Graphics","color":"green","subcategories":["Other"]}]},
"threads":[{"name":"GeckoMain","pid":10,"tid":10,"stringTable":["CompositorScreenshot",%q],
"markers":{"schema":{"name":0,"startTime":1,"endTime":2,"phase":3,"category":4,"data":5},
"data":[[0,1,0,0,0,{"type":"CompositorScreenshot","url":1,"windowID":"0x1","windowWidth":10}]]}}]}`, url)
}

// screenshotOf returns the converted screenshot: name, categories, arguments and picture.
func screenshotOf(t *testing.T, input string, opts convert.Options) (event string, report *convert.Report, out []byte) {
	t.Helper()
	var buf bytes.Buffer
	opts.TempDir = t.TempDir()
	report, err := convert.Convert(context.Background(), &buf, strings.NewReader(input), opts)
	if err != nil {
		t.Fatal(err)
	}
	checked, err := pftrace.Verify(context.Background(), bytes.NewReader(buf.Bytes()), pftrace.VerifyOptions{})
	if err != nil || checked.Violations > 0 {
		t.Fatalf("verify: %v, %+v", err, checked)
	}
	var trace pb.Trace
	if err := proto.Unmarshal(buf.Bytes(), &trace); err != nil {
		t.Fatal(err)
	}
	texts := map[string]map[uint64]string{"name": {}, "category": {}, "key": {}}
	for _, p := range trace.GetPacket() {
		for _, e := range p.GetInternedData().GetEventNames() {
			texts["name"][e.GetIid()] = e.GetName()
		}
		for _, e := range p.GetInternedData().GetEventCategories() {
			texts["category"][e.GetIid()] = e.GetName()
		}
		for _, e := range p.GetInternedData().GetDebugAnnotationNames() {
			texts["key"][e.GetIid()] = e.GetName()
		}
	}
	for _, p := range trace.GetPacket() {
		e := p.GetTrackEvent()
		if e == nil {
			continue
		}
		var categories, args []string
		for _, iid := range e.GetCategoryIids() {
			categories = append(categories, texts["category"][iid])
		}
		for _, a := range e.GetDebugAnnotations() {
			arg := texts["key"][a.GetNameIid()]
			for _, member := range a.GetDictEntries() {
				arg += fmt.Sprintf(" %s=%s", texts["key"][member.GetNameIid()], member.GetStringValue())
			}
			args = append(args, arg)
		}
		event += fmt.Sprintf("%s [%s] (%s) %q", texts["name"][e.GetNameIid()], strings.Join(categories, ","), strings.Join(args, "; "),
			e.GetScreenshot().GetJpgImage())
	}
	return event, report, buf.Bytes()
}

// TestScreenshots checks that the packets of screenshots contain what Perfetto's viewer needs: name, category and picture. A
// converted picture converts to itself.
func TestScreenshots(t *testing.T) {
	png := base64.StdEncoding.EncodeToString([]byte("\x89PNG\r\n\x1a\n"))
	huge := base64.StdEncoding.EncodeToString(append([]byte(jpeg), make([]byte, 17<<20)...))
	for name, test := range map[string]struct {
		input   string
		opts    convert.Options
		event   string
		problem string
	}{
		"instant": {
			input: screenshotEvent("I", jpeg64),
			event: fmt.Sprintf("Screenshot [android_screenshot] (frame_sequence; weft category=disabled-by-default-devtools.screenshot) %q", jpeg),
		},
		"object": {
			input: screenshotEvent("O", jpeg64),
			event: fmt.Sprintf("Screenshot [android_screenshot] (frame_sequence; weft category=disabled-by-default-devtools.screenshot id=0x1) %q", jpeg),
		},
		"without arguments": {
			input: screenshotEvent("I", jpeg64), opts: convert.Options{NoArgs: true},
			event: fmt.Sprintf("Screenshot [android_screenshot] (weft category=disabled-by-default-devtools.screenshot) %q", jpeg),
		},
		"off": {
			input: screenshotEvent("I", jpeg64), opts: convert.Options{NoScreenshots: true},
			event: `Screenshot [disabled-by-default-devtools.screenshot] (frame_sequence) ""`,
		},
		"damaged": {
			input: screenshotEvent("I", jpeg64[:9]+"!"), problem: "screenshot_invalid",
			event: `Screenshot [disabled-by-default-devtools.screenshot] (frame_sequence; snapshot) ""`,
		},
		"PNG": {
			input: screenshotEvent("I", png), problem: "screenshot_not_jpeg",
			event: `Screenshot [disabled-by-default-devtools.screenshot] (frame_sequence; snapshot) ""`,
		},
		"huge": {
			input: screenshotEvent("I", huge), problem: "screenshot_omitted",
			event: `Screenshot [disabled-by-default-devtools.screenshot] (frame_sequence) ""`,
		},
		"Firefox": {
			input: firefoxScreenshot("data:image/jpeg;base64," + jpeg64),
			event: fmt.Sprintf("Screenshot [android_screenshot] (type; windowID; windowWidth; weft marker=CompositorScreenshot category=Graphics,CompositorScreenshot) %q", jpeg),
		},
		"Firefox, off": {
			input: firefoxScreenshot("data:image/jpeg;base64," + jpeg64), opts: convert.Options{NoScreenshots: true},
			event: `CompositorScreenshot [Graphics,CompositorScreenshot] (type; windowID; windowWidth) ""`,
		},
		"Firefox, WebP": {
			input: firefoxScreenshot("data:image/webp;base64," + png), problem: "screenshot_not_jpeg",
			event: `CompositorScreenshot [Graphics,CompositorScreenshot] (type; url; windowID; windowWidth) ""`,
		},
		"Firefox, huge": {
			input: firefoxScreenshot("data:image/jpeg;base64," + huge), problem: "screenshot_omitted",
			event: `CompositorScreenshot [Graphics,CompositorScreenshot] (type; windowID; windowWidth) ""`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			event, report, out := screenshotOf(t, test.input, test.opts)
			if diff := cmp.Diff(test.event, event); diff != "" {
				t.Errorf("event (-want +got):\n%s", diff)
			}
			found := ""
			for _, p := range report.Problems {
				if strings.HasPrefix(p.Name, "screenshot_") {
					found += p.Name
				}
			}
			if found != test.problem {
				t.Errorf("problems %q, want %q", found, test.problem)
			}
			if pictures := int64(strings.Count(test.event, "JFIF")); report.Events.Screenshots != pictures || report.Events.ScreenshotBytes != pictures*int64(len(jpeg)) {
				t.Errorf("%d pictures of %d bytes", report.Events.Screenshots, report.Events.ScreenshotBytes)
			}
			again, second, _ := screenshotOf(t, string(out), convert.Options{})
			if again != event || second.Events.Screenshots != report.Events.Screenshots {
				t.Errorf("read back: %s", again)
			}
		})
	}
}
