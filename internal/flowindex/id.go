package flowindex

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/weft-trace/weft/internal/flowbind"
	"github.com/weft-trace/weft/internal/timeline"
)

// formatID returns an id in the form used in the input. Chrome ids are always hexadecimal, although the input may have decimal
// ids.
func (x *Index) formatID(k *flowbind.Key) string {
	switch {
	case k.TextID:
		if text, ok := x.t.FlowIDText(k.ID); ok {
			return text
		}
		return hashPrefix + fmt.Sprintf("%016x", k.ID)
	case k.Space == timeline.FlowNative:
		return strconv.FormatUint(k.ID, 10)
	case k.Space == timeline.FlowFirefox:
		return fmt.Sprintf("%016x0", k.ID)
	}
	return fmt.Sprintf("%#x", k.ID)
}

// hashPrefix precedes the hash of a text id whose text was not kept.
const hashPrefix = "#"

// spaces is a set of FlowSpace values.
type spaces uint8

func spacesOf(list ...timeline.FlowSpace) (s spaces) {
	for _, space := range list {
		s |= 1 << space
	}
	return s
}

func (s spaces) has(space timeline.FlowSpace) bool { return s&(1<<space) != 0 }

var (
	chromeSpaces  = spacesOf(timeline.FlowV1, timeline.FlowV2)
	firefoxSpaces = spacesOf(timeline.FlowFirefox)
	nativeSpaces  = spacesOf(timeline.FlowNative)
	allSpaces     = chromeSpaces | firefoxSpaces | nativeSpaces | spacesOf(timeline.FlowLink)
)

// candidate is a possible meaning of an id in a query.
type candidate struct {
	id       uint64
	isText   bool
	spaces   spaces
	fallback bool // used only if no earlier candidate is the id of a flow
}

// candidates returns the possible meanings of an id.
func candidates(id string) []candidate {
	var all []candidate
	add := func(c candidate) {
		for i := range all {
			if all[i].id == c.id && all[i].isText == c.isText && all[i].fallback == c.fallback {
				all[i].spaces |= c.spaces
				return
			}
		}
		all = append(all, c)
	}
	text := func(id string, in spaces, fallback bool) {
		add(candidate{id: timeline.HashFlowID([]byte(id)), isText: true, spaces: in, fallback: fallback})
	}
	text(id, allSpaces, false)
	if hash, ok := strings.CutPrefix(id, hashPrefix); ok {
		if n, err := strconv.ParseUint(hash, 16, 64); err == nil {
			add(candidate{id: n, isText: true, spaces: allSpaces})
		}
	}
	if n, err := strconv.ParseUint(id, 10, 64); err == nil {
		add(candidate{id: n, spaces: chromeSpaces | nativeSpaces})
	} else if n, err := strconv.ParseInt(id, 10, 64); err == nil {
		add(candidate{id: uint64(n), spaces: chromeSpaces})
	}
	digits, prefixed := cutHexPrefix(id)
	if n, err := strconv.ParseUint(digits, 16, 64); err == nil {
		in := chromeSpaces
		if prefixed {
			in |= nativeSpaces
		}
		add(candidate{id: n, spaces: in})
	}
	// Firefox writes 17 digits for a 64-bit number.
	if long, ok := strings.CutSuffix(id, "0"); ok && len(id) == 17 {
		if n, err := strconv.ParseUint(long, 16, 64); err == nil {
			add(candidate{id: n, spaces: firefoxSpaces})
			text(long, firefoxSpaces, true)
		}
	}
	if n, err := strconv.ParseUint(id, 16, 64); err == nil && len(id) == 16 {
		add(candidate{id: n, spaces: firefoxSpaces, fallback: true})
		text(id+"0", firefoxSpaces, true)
	}
	return slices.Clip(all)
}

func cutHexPrefix(id string) (digits string, ok bool) {
	if len(id) > 2 && id[0] == '0' && id[1]|0x20 == 'x' {
		return id[2:], true
	}
	return id, false
}
