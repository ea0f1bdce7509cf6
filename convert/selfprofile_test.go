package convert_test

import (
	"io"
	"strings"
	"testing"

	"github.com/weft-trace/weft/convert"
	weft "github.com/weft-trace/weft/trace"
)

const (
	// selfProfile has one sample that lasts 20 ms, and others that last 10 ms.
	selfProfile = `{"resources":[],"frames":[{"name":"f"}],"stacks":[{"frameId":0}],"samples":[
		{"timestamp":0,"stackId":0},{"timestamp":10,"stackId":0},{"timestamp":30,"stackId":0},{"timestamp":40}]}`

	// countedTrace has a sample that counts as one; weighedTrace has V8 samples that weigh the nanoseconds to the next sample.
	countedTrace = `[{"ph":"P","name":"s","pid":1,"tid":2,"ts":1000,"stack":["g"]}]`
	weighedTrace = `[{"ph":"P","name":"Profile","id":"1","pid":1,"tid":2,"ts":1000,"args":{"data":{"startTime":1000}}},
		{"ph":"P","name":"ProfileChunk","id":"1","pid":1,"tid":2,"ts":1000,"args":{"data":{"cpuProfile":{` + twoNodes + `,"samples":[2,1]},
		"timeDeltas":[0,500]}}}]`
)

// Options for self-profiles cause an error for an input in another format if a self-profile is required, and otherwise have no
// effect.
func TestSelfProfileRequired(t *testing.T) {
	end := weft.Nanos(5)
	for _, c := range []struct {
		name, input string
		opts        convert.SelfProfileOptions
		want        string
	}{
		{"self-profile", selfProfile, convert.SelfProfileOptions{End: &end, Required: true}, ""},
		{"other, not required", countedTrace, convert.SelfProfileOptions{End: &end, ThreadName: "t"}, ""},
		{"other", countedTrace, convert.SelfProfileOptions{Required: true}, "this is a Chrome JSON trace and not a JS self-profile"},
		{
			"other, with an end", countedTrace, convert.SelfProfileOptions{End: &end, Required: true},
			"this is a Chrome JSON trace; an end can be given only for a JS self-profile, so leave it out",
		},
		{
			"other, with all", countedTrace, convert.SelfProfileOptions{SampleInterval: 1, TimeOrigin: &end, End: &end, ThreadName: "t", Required: true},
			"this is a Chrome JSON trace; a sample interval, a time origin, an end, a thread name can be given only for a JS self-profile, so leave it out",
		},
	} {
		_, err := convert.Convert(t.Context(), io.Discard, strings.NewReader(c.input), convert.Options{SelfProfile: c.opts})
		got := ""
		if err != nil {
			got = err.Error()
		}
		if got != c.want {
			t.Errorf("%s: error %q, want %q", c.name, got, c.want)
		}
	}
}
