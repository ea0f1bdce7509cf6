package attribution

import (
	"strings"

	"github.com/weft-trace/weft/internal/producers"
	"github.com/weft-trace/weft/internal/timeline"
)

// nameInfo is what the name of an event says.
type nameInfo struct {
	name      string
	Category  producers.Category // producers.CategoryNone: the enclosing slice's
	collector bool               // a slice that collects garbage (attribution.md, rule 9)
	script    bool               // a slice with the url of the script that runs
	Runs      bool               // a slice that runs scripts
	event     producers.Event
}

// pageCallCategory is the category of the calls that are made of the samples of self-profiles.
const pageCallCategory = "js"

// categoryInfo is what the category of an event, as the input has it, says.
type categoryInfo struct {
	call   bool // a call of a function
	Script bool // it runs a script
}

// categoriesOf looks at all categories of a timeline; index 0 is for events without.
func categoriesOf(t *timeline.Timeline) []categoryInfo {
	infos := make([]categoryInfo, t.CategoryCount()+1)
	for id := range infos[1:] {
		name := t.Category(timeline.CategoryID(id + 1))
		main, _, _ := strings.Cut(string(name), ",") // Firefox's subcategory follows
		call := timeline.IsCall(name) || string(name) == pageCallCategory
		infos[id+1] = categoryInfo{call: call, Script: call || main == producers.FirefoxScript}
	}
	return infos
}

// infoOf looks at a name.
func infoOf(name string) nameInfo {
	category := producers.CategoryOf(name)
	return nameInfo{
		name: name, event: producers.EventOf(name), script: producers.NamesScript(name), Category: category,
		collector: category == producers.CategoryGC, Runs: category == producers.CategoryScript,
	}
}

// Knows reports whether the name of an event says something.
func Knows(name string) bool {
	info := infoOf(name)
	return info.event != producers.OtherEvent || info.Category != producers.CategoryNone || info.collector || info.script
}

// infosOf looks at all names of a timeline; index 0 is for events without a name that is interned.
func infosOf(t *timeline.Timeline) []nameInfo {
	infos := make([]nameInfo, t.NameCount()+1)
	for id := range infos[1:] {
		infos[id+1] = infoOf(string(t.Name(timeline.NameID(id + 1))))
	}
	return infos
}

// markerInfo looks at the name of a marker of Firefox that the timeline has as an argument.
func (f *found) markerInfo(name []byte) *nameInfo {
	info, ok := f.markers[string(name)]
	if !ok {
		made := infoOf(string(name))
		info = &made
		if len(f.markers) < maxMarkers {
			f.markers[info.name] = info
		}
	}
	return info
}

// maxMarkers bounds the names that are kept.
const maxMarkers = 1 << 16
