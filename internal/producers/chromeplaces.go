package producers

import (
	"bytes"
	"strings"

	"github.com/weft-trace/weft/internal/timeline"
)

// The groups of asynchronous slices in Chrome processes.
const (
	groupFrames  = "Frames"
	groupInput   = "Input"
	groupLoad    = "Page load"
	groupTimings = "User timing"
	groupV8      = "V8 and GC"
)

// chromePlaces lists the groups by category prefix; if several prefixes match a list of categories, the first prefix counts.
var chromePlaces = []struct{ category, group string }{
	{"blink.user_timing", groupTimings}, {"blink.console", groupTimings},
	{"input", groupInput}, {"latency", groupInput}, // for EventLatency, which also has the category cc
	{"cc", groupFrames}, {"viz", groupFrames}, {"blink.animations", groupFrames}, {"disabled-by-default-cc.", groupFrames}, {"disabled-by-default-viz.", groupFrames},
	{"navigation", groupLoad}, {"loading", groupLoad},
	{"v8", groupV8}, {"disabled-by-default-v8.", groupV8}, {"blink_gc", groupV8}, {"blink.gc", groupV8}, {"disabled-by-default-blink_gc", groupV8},
}

// chromeNames lists the groups by name prefix, for slices with generic categories (devtools.timeline, …).
var chromeNames = []struct{ name, group string }{
	{"EventTiming", groupInput}, {"AnimationFrame", groupFrames}, {"ResourceLoad", groupLoad},
}

// firstRows lists the name prefixes of the rows that come first in their groups.
var firstRows = []string{"PipelineReporter", "AnimationFrame", "EventLatency", "EventTiming", "Navigation"}

// ChromePlace returns the place where viewers show an asynchronous Chrome slice. Node.js slices have no groups, because Node.js
// has few categories, with descriptive names.
func ChromePlace(categories, name []byte) timeline.Place {
	if bytes.HasPrefix(categories, []byte("node")) {
		return timeline.Place{}
	}
	place := timeline.Place{Group: timeline.OtherGroup, Rank: 1}
	for _, first := range firstRows {
		if strings.HasPrefix(string(name), first) {
			place.Rank = 0
		}
	}
	for _, known := range chromeNames {
		if strings.HasPrefix(string(name), known.name) {
			place.Group = known.group
			return place
		}
	}
	for _, known := range chromePlaces {
		for category := range bytes.SplitSeq(categories, []byte{','}) {
			if strings.HasPrefix(string(category), known.category) {
				place.Group = known.group
				return place
			}
		}
	}
	return place
}
