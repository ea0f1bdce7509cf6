package attribution

import (
	"strings"

	"github.com/weft-trace/weft/internal/producers"
	"github.com/weft-trace/weft/internal/timeline"
)

// nameInfo holds the facts that the name of an event implies.
type nameInfo struct {
	name      string
	Category  producers.Category // producers.CategoryNone: the category of the enclosing slice
	collector bool               // a slice that collects garbage (attribution.md, rule 9)
	script    bool               // a slice with the url of the running script
	Runs      bool               // a slice that runs scripts
	event     producers.Event
}

// pageCallCategory is the category of calls that weft makes from the samples of self-profiles.
const pageCallCategory = "js"

// categoryInfo holds the facts that the category of an event in the input implies.
type categoryInfo struct {
	call   bool // a function call
	Script bool // it runs a script
}

// categoriesOf returns the categoryInfo of every category; index 0 is for events without a category.
func categoriesOf(t *timeline.Timeline) []categoryInfo {
	infos := make([]categoryInfo, t.CategoryCount()+1)
	for id := range infos[1:] {
		name := t.Category(timeline.CategoryID(id + 1))
		main, _, _ := strings.Cut(string(name), ",") // a Firefox subcategory may follow
		call := timeline.IsCall(name) || string(name) == pageCallCategory
		infos[id+1] = categoryInfo{call: call, Script: call || main == producers.FirefoxScript}
	}
	return infos
}

func infoOf(name string) nameInfo {
	category := producers.CategoryOf(name)
	return nameInfo{
		name: name, event: producers.EventOf(name), script: producers.NamesScript(name), Category: category,
		collector: category == producers.CategoryGC, Runs: category == producers.CategoryScript,
	}
}

// Knows reports whether the name of an event matters to attribution.
func Knows(name string) bool {
	info := infoOf(name)
	return info.event != producers.OtherEvent || info.Category != producers.CategoryNone || info.collector || info.script
}

// infosOf returns the nameInfo of every name; index 0 is for events without an interned name.
func infosOf(t *timeline.Timeline) []nameInfo {
	infos := make([]nameInfo, t.NameCount()+1)
	for id := range infos[1:] {
		infos[id+1] = infoOf(string(t.Name(timeline.NameID(id + 1))))
	}
	return infos
}

// markerInfo returns the nameInfo of a Firefox marker name, which is an argument of its slice.
func (f *found) markerInfo(name []byte) *nameInfo {
	info, ok := f.markers[string(name)]
	if !ok {
		info = new(infoOf(string(name)))
		if len(f.markers) < maxMarkers {
			f.markers[info.name] = info
		}
	}
	return info
}

// maxMarkers bounds found.markers.
const maxMarkers = 1 << 16
