package convert_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"io"
	"math/rand/v2"
	"os"
	"slices"
	"testing"

	"github.com/weft-trace/weft/attribution"
	"github.com/weft-trace/weft/convert"
	"github.com/weft-trace/weft/internal/recording"
	"github.com/weft-trace/weft/pftrace"
	"github.com/weft-trace/weft/trace"
)

// TestCopiesHaveNothingMalformed damages a trace at random: a copy lacks everything that weft reports as dropped, so the copy is
// well-formed.
func TestCopiesHaveNothingMalformed(t *testing.T) {
	file, err := os.Open("../testdata/traces/perfetto/chrome-devtools-tiny.pftrace.gz")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	zr, err := gzip.NewReader(file)
	if err != nil {
		t.Fatal(err)
	}
	recorded, err := io.ReadAll(io.LimitReader(zr, 24<<10))
	if err != nil {
		t.Fatal(err)
	}
	rng := rand.New(rand.NewPCG(1, 2))
	malformed, rounds := 0, 30
	if recording.All() {
		rounds = 150
	}
	for n := range rounds {
		damaged := slices.Clone(recorded)
		for range 1 + rng.IntN(8) {
			damaged[100+rng.IntN(len(damaged)-100)] ^= 1 << rng.IntN(8)
		}
		var out bytes.Buffer
		report, err := convert.Convert(context.Background(), &out, bytes.NewReader(damaged), convert.Options{Attribute: &attribution.Options{}, KeepPackets: true, Workers: 1})
		if err != nil {
			continue // no longer a trace
		}
		if slices.ContainsFunc(report.Problems, func(p trace.Problem) bool { return p.Name == "packet_malformed" }) {
			malformed++
		}
		found, err := pftrace.Verify(context.Background(), &out, pftrace.VerifyOptions{})
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range found.Findings {
			if f.Rule == "malformed_message" || f.Rule == "framing" {
				t.Errorf("damage %d: %+v", n, f)
			}
		}
	}
	if malformed < rounds/3 {
		t.Errorf("only %d of the traces have malformed packets", malformed)
	}
}
