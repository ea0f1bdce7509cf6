package reportpage

import (
	"testing"

	"github.com/weft-trace/weft/internal/timeline"
)

// The sentence about uncounted data is grammatical for all numbers.
func TestNotCounted(t *testing.T) {
	for _, test := range []struct {
		of   timeline.Recorder
		want string
	}{
		{timeline.Recorder{Input: "b", Threads: 1, Events: 1},
			"b also recorded 1 thread of another input; its 1 slice or instant there is not counted for the thread, because that would count its time twice"},
		{timeline.Recorder{Input: "b", Threads: 2, Events: 1234},
			"b also recorded 2 threads of other inputs; its 1,234 slices and instants there are not counted for these threads, because that would count their time twice"},
		{timeline.Recorder{Input: "b", Threads: 1, Samples: 1},
			"b also recorded 1 thread of another input; its 1 sample there is not counted for the thread, because that would count its time twice"},
		{timeline.Recorder{Input: "b", Threads: 1, Samples: 1234},
			"b also recorded 1 thread of another input; its 1,234 samples there are not counted for the thread, because that would count its time twice"},
	} {
		if got := NotCounted(&test.of); got != test.want {
			t.Errorf("%+v: %s, want %s", test.of, got, test.want)
		}
	}
}
