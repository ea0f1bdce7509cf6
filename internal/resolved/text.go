package resolved

import "github.com/weft-trace/weft/internal/timeline"

// TrackText returns the names of the tracks from the process down to a lane, with their ids in the input: "Renderer [pid 7] /
// main [tid 9]". Track has the names separately.
func TrackText(tl *timeline.Timeline, id timeline.TrackID, lane uint32) (text string) {
	if lane > 0 && tl.TrackKind(id) == timeline.ThreadTrack && tl.FirstLane(id) > 0 {
		text = timeline.RoleLane.String() // as in the output; lanes of other tracks have the same name as the track
	}
	for range maxTrackDepth {
		if id == 0 {
			break
		}
		track := tl.Track(id)
		if tl.Role(id) != timeline.RoleStream { // a stream has the same name as its thread
			if text != "" {
				text = " / " + text
			}
			text = track.Title() + text
		}
		id = track.Parent
	}
	return text
}

// AppendStackText appends the function names of a call stack, outermost first, separated by semicolons.
func AppendStackText(b []byte, tl *timeline.Timeline, id timeline.CallstackID) []byte {
	for i, frame := range tl.Callstack(id) {
		if i > 0 {
			b = append(b, ';')
		}
		b = append(b, tl.Frame(frame).Function...)
	}
	return b
}
