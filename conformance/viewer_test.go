package conformance

import (
	"bytes"
	"flag"
	"fmt"
	"hash/fnv"
	"html"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/weft-trace/weft/convert"
	"github.com/weft-trace/weft/internal/recording"
)

var update = flag.Bool("update", false, "draw the pictures of docs/viewer.md again")

// drawing is a picture of a part of a trace, as a viewer shows it: tracks from top to bottom.
type drawing struct {
	file, recording string
	rows            []drawnRow
	from, length    int64 // ns; from counts from the first slice of the first row
}

// drawnRow is a track, or several of one name that a viewer merges.
type drawnRow struct {
	label string
	show  func(s *slice) bool
	flat  bool // all on one line, each until the next
}

func onThread(tid, kind, name string) func(*slice) bool {
	return func(s *slice) bool {
		return s.track.tid == tid && s.track.kind == kind && (name == "" || s.track.name == name)
	}
}

func onTrack(pid, name string) func(*slice) bool {
	return func(s *slice) bool { return s.track.pid == pid && s.track.kind == "async" && s.track.name == name }
}

var drawings = []drawing{
	{
		file: "chrome.svg", recording: "traces/chrome/chrome-devtools-ui-saved-small.json.gz", length: 180e6, from: 1_500e6,
		rows: []drawnRow{
			{label: "Screenshots", flat: true, show: func(s *slice) bool { return s.name == "Screenshot" && s.category == "android_screenshot" }},
			{label: "CrRendererMain 26497", show: onThread("26497", "thread", "")},
			{label: "V8 state", show: func(s *slice) bool { return s.track.name == "V8 state" && s.track.pid == "26497" && s.name != "idle" }},
			{label: "PipelineReporter", show: onTrack("26497", "PipelineReporter")},
			{label: "tick (user timing)", show: onTrack("26497", "tick")},
			{label: "Compositor 26531", show: onThread("26531", "thread", "")},
		},
	},
	{
		file: "node.svg", recording: "traces/node/node-v24-small-1-node_trace.json.gz", length: 270e6,
		rows: []drawnRow{
			{label: "main thread 21898", show: onThread("21898", "thread", "")},
			{label: "MESSAGEPORT", show: onTrack("21898", "MESSAGEPORT")},
			{label: "TCPWRAP", show: onTrack("21898", "TCPWRAP")},
			{label: "time::loop", show: onTrack("21898", "time::loop")},
		},
	},
}

// TestViewerPictures holds the pictures of docs/viewer.md to what the packets of the conversions say.
func TestViewerPictures(t *testing.T) {
	for _, d := range drawings {
		t.Run(d.file, func(t *testing.T) {
			p, _ := mustProject(t, recording.Bytes(t, d.recording), convert.Options{})
			got := d.draw(p)
			file := filepath.Join("..", "docs", "viewer", d.file)
			if *update {
				if err := os.WriteFile(file, got, 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(want, got) {
				t.Errorf("%s is not what the packets say; draw it with -update", file)
			}
		})
	}
}

const (
	labelWidth = 170
	drawWidth  = 950
	lineHeight = 16
)

func (d *drawing) draw(p *projection) []byte {
	shown := make([][]*slice, len(d.rows))
	first := int64(-1)
	for _, s := range p.slices {
		for i, row := range d.rows {
			if row.show(s) {
				shown[i] = append(shown[i], s)
				if i == 0 && first < 0 {
					first = s.ts
				}
			}
		}
	}
	from := first + d.from
	var body strings.Builder
	y := 20
	for i, row := range d.rows {
		fmt.Fprintf(&body, "<text x=\"4\" y=\"%d\" class=\"label\">%s</text>\n", y+12, html.EscapeString(row.label))
		y = d.row(&body, row, shown[i], from, y) + 6
		fmt.Fprintf(&body, "<line x1=\"0\" y1=\"%d\" x2=\"%d\" y2=\"%d\" stroke=\"#ddd\"/>\n", y-3, labelWidth+drawWidth, y-3)
	}
	var out bytes.Buffer
	fmt.Fprintf(&out, "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" font-family=\"sans-serif\" font-size=\"10\">\n"+
		"<style>.label{font-weight:bold}</style>\n<rect width=\"100%%\" height=\"100%%\" fill=\"#fff\"/>\n", labelWidth+drawWidth, y)
	for ms := int64(0); ms*1e6 < d.length; ms += d.length / 1e6 / 6 {
		fmt.Fprintf(&out, "<text x=\"%d\" y=\"12\" fill=\"#666\">%d ms</text>\n", labelWidth+ms*1e6*drawWidth/d.length, (d.from)/1e6+ms)
	}
	out.WriteString(body.String())
	out.WriteString("</svg>\n")
	return out.Bytes()
}

// row draws the slices of a row and returns where it ends. Slices of different tracks go to the first lines that are free.
func (d *drawing) row(out *strings.Builder, row drawnRow, all []*slice, from int64, y int) int {
	var lines []int64 // until when each is taken
	base, deepest := map[*track]int{}, map[*track]int{}
	for _, s := range all {
		deepest[s.track] = max(deepest[s.track], s.depth())
	}
	lowest := y + lineHeight
	for i, s := range all {
		end := s.ts + s.dur
		switch {
		case row.flat && i+1 < len(all):
			end = all[i+1].ts
		case s.dur == unfinished || row.flat:
			end = from + d.length
		}
		if end < from || s.ts >= from+d.length || s.dur == 0 && !row.flat {
			continue
		}
		line := s.depth()
		if s.track.kind == "async" {
			if _, known := base[s.track]; !known || s.parent == nil {
				base[s.track] = takeLines(&lines, deepest[s.track]+1, s.ts, end)
			}
			line += base[s.track]
		}
		if line >= 12 {
			continue
		}
		top := y + line*lineHeight
		lowest = max(lowest, top+lineHeight)
		x0 := labelWidth + max(s.ts-from, 0)*drawWidth/d.length
		x1 := labelWidth + min(end-from, d.length)*drawWidth/d.length
		if x1 == x0 {
			if line < 2 {
				fmt.Fprintf(out, "<rect x=\"%d\" y=\"%d\" width=\"1\" height=\"%d\" fill=\"%s\"/>\n", x0, top, lineHeight-2, colorOf(s.name))
			}
			continue
		}
		fmt.Fprintf(out, "<rect x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\" fill=\"%s\" stroke=\"#fff\" stroke-width=\"0.5\"/>\n",
			x0, top, x1-x0, lineHeight-2, colorOf(s.name))
		if n := int(x1-x0) / 6; n >= 4 {
			name := []rune(s.name)
			fmt.Fprintf(out, "<text x=\"%d\" y=\"%d\">%s</text>\n", x0+3, top+11, html.EscapeString(string(name[:min(n, len(name))])))
		}
	}
	return lowest
}

// takeLines takes the first lines next to each other that are free at a time.
func takeLines(lines *[]int64, n int, from, until int64) (first int) {
	for i := 0; i < first+n; i++ {
		if i == len(*lines) {
			*lines = append(*lines, 0)
		}
		if (*lines)[i] > from {
			first = i + 1
		}
	}
	for i := first; i < first+n; i++ {
		(*lines)[i] = until
	}
	return first
}

// colorOf chooses a color by the name without digits, as viewers do.
func colorOf(name string) string {
	h := fnv.New32()
	h.Write([]byte(strings.Map(func(r rune) rune {
		if r >= '0' && r <= '9' {
			return -1
		}
		return r
	}, name)))
	return fmt.Sprintf("hsl(%d,60%%,75%%)", h.Sum32()%360)
}
