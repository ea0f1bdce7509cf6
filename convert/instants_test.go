package convert_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/weft-trace/weft/attribution"
	"github.com/weft-trace/weft/convert"
	"github.com/weft-trace/weft/internal/problem"
	"github.com/weft-trace/weft/pftrace"
)

// More than 512 simultaneous instants of any kind survive in Perfetto, which nests them (a rule that the validator checks).
func TestManyInstantsAtOneTime(t *testing.T) {
	kinds := map[string]string{
		"global":       `{"ph":"i","s":"g","name":"i","ts":5,"pid":1,"tid":1}`,
		"process":      `{"ph":"i","s":"p","name":"i","ts":5,"pid":1,"tid":1}`,
		"thread":       `{"ph":"i","s":"t","name":"i","ts":5,"pid":1,"tid":1}`,
		"other events": `{"ph":"=","name":"i","id":"1","ts":5,"pid":1,"tid":1}`,
		"unbound":      `{"ph":"t","name":"i","id":"1","ts":5,"pid":1,"tid":2}`,
		"both":         `{"ph":"s","name":"i","id":"1","ts":5,"pid":1,"tid":2},` + "\n" + `{"ph":"=","name":"i","id":"1","ts":5,"pid":1,"tid":2}`,
		"objects":      `{"ph":"O","name":"i","id":"1","ts":5,"pid":1,"tid":1,"args":{"snapshot":{}}}`,
		"clock sync":   `{"ph":"c","name":"clock_sync","ts":5,"pid":1,"tid":1,"args":{"sync_id":"x"}}`,
		"asynchronous": `{"ph":"n","cat":"c","name":"i","id":"1","ts":5,"pid":1,"tid":1}`,
	}
	all := ""
	for _, event := range kinds {
		all += event + ",\n"
	}
	kinds["all"] = strings.TrimSuffix(all, ",\n")
	for name, event := range kinds {
		t.Run(name, func(t *testing.T) {
			const times = 1100
			input := `{"traceEvents":[` + strings.Repeat(event+",\n", times) + `{"ph":"X","name":"x","ts":1,"dur":2,"pid":1,"tid":1}]}`
			events := times * (strings.Count(event, "\n") + 1)
			var first []byte
			for _, opts := range []convert.Options{{Workers: 1}, {Workers: 3, Memory: 1 << 25}, {Workers: 2, Attribute: &attribution.Options{}}} {
				var out bytes.Buffer
				report, err := convert.Convert(t.Context(), &out, strings.NewReader(input), opts)
				if err != nil {
					t.Fatal(err)
				}
				verified, err := pftrace.Verify(t.Context(), bytes.NewReader(out.Bytes()), pftrace.VerifyOptions{})
				if err != nil || !verified.OK() {
					t.Errorf("%v, %+v", err, verified)
				}
				if opts.Attribute != nil {
					continue
				}
				if report.Events.Instants != int64(events) {
					t.Errorf("%d instants, want %d", report.Events.Instants, events)
				}
				moved := 0
				for _, p := range report.Problems {
					if p.Name == problem.InstantDepthLimit.Name() {
						moved = int(p.Count)
					}
				}
				if name != "all" && moved != events-512 {
					t.Errorf("%d instants counted as moved, want %d", moved, events-512)
				}
				if first == nil {
					first = out.Bytes()
				} else if !bytes.Equal(first, out.Bytes()) {
					t.Error("the output depends on workers and memory")
				}
			}
		})
	}
}
