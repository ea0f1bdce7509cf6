package resolved

import "github.com/weft-trace/weft/internal/timeline"

// TrackText returns the names of the tracks from the process down to a lane of a track, with the ids that the input has:
// "Renderer [pid 7] / main [tid 9]". It is for people; Track has the names one by one.
func TrackText(tl *timeline.Timeline, id timeline.TrackID, lane uint32) (text string) {
	if lane > 0 && tl.TrackKind(id) == timeline.ThreadTrack && tl.FirstLane(id) > 0 {
		text = timeline.RoleLane.String() // as in the output; the lanes of other tracks have their name
	}
	for range maxTrackDepth {
		if id == 0 {
			break
		}
		track := tl.Track(id)
		if tl.Role(id) != timeline.RoleStream { // that has the name of its thread
			if text != "" {
				text = " / " + text
			}
			text = track.Title() + text
		}
		id = track.Parent
	}
	return text
}

// AppendStackText appends the names of the functions of a call stack, the outermost first, with semicolons between them.
func AppendStackText(b []byte, tl *timeline.Timeline, id timeline.CallstackID) []byte {
	for i, frame := range tl.Callstack(id) {
		if i > 0 {
			b = append(b, ';')
		}
		b = append(b, tl.Frame(frame).Function...)
	}
	return b
}
