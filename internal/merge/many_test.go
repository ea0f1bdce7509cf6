package merge_test

import (
	"fmt"
	"testing"

	"github.com/weft-trace/weft/internal/merge"
	"github.com/weft-trace/weft/internal/timeline"
)

// Places a thousand inputs from ten hosts, whose clocks a relay service has compared one after another. Expects that the hosts
// are recognized, and that the number of relations grows with the number of inputs, not of pairs.
func TestManyHosts(t *testing.T) {
	const hosts, perHost = 10, 100
	boot := func(host int) timeline.Nanos { return timeline.Nanos(1000+7*host) * second } // REALTIME − MONOTONIC
	behind := func(host int) timeline.Nanos { return timeline.Nanos(host) * 3 * second }  // lag against host 0's monotonic clock
	for _, reference := range []int{0, 777} {
		var in []merge.Input
		for i := range hosts * perHost {
			host := i % hosts
			in = append(in, input(t, fmt.Sprint("i", i), anchored(boot(host)), func(b *timeline.Builder) {
				slice(b, int64(i), "work", 100*second-behind(host), second)
				if i != 5 {
					return
				}
				for other := range hosts - 1 {
					b.Observer().HostSync(&timeline.HostSync{Host: boot(0), Own: boot(other + 1), Low: -behind(other+1) - 1000, High: -behind(other+1) + 3000})
				}
			}))
		}
		plan, err := merge.Solve(in, merge.Options{Reference: reference})
		if err != nil {
			t.Fatal(err)
		}
		for i, p := range plan.Inputs {
			want := behind(i%hosts) - behind(reference%hosts)
			if off := p.Offset - want; off < -4000 || off > 4000 || p.AtLeast || p.Uncertainty() > 4000 {
				t.Fatalf("reference %d, input %d: offset %d, want %d: %+v", reference, i, p.Offset, want, p)
			}
			if alike := p.Machine == plan.Inputs[(i+hosts)%len(in)].Machine; !alike {
				t.Fatalf("reference %d: the inputs %d and %d are on two machines", reference, i, i+hosts)
			}
		}
		if len(plan.Machines) != hosts-1 {
			t.Errorf("reference %d: %d machines beside the first", reference, len(plan.Machines))
		}
		if n := len(plan.Checked) + plan.Unchecked; n > 10*len(in) {
			t.Errorf("reference %d: %d relations of %d inputs", reference, n, len(in))
		}
	}
}

// Solves many linked inputs without host names. Inputs from one boot count as inputs from one host, whichever pairs are linked.
func TestManyLinkedInputs(t *testing.T) {
	const n = 300
	var in []merge.Input
	for i := range n {
		boot := timeline.Nanos(1000+i%2*500) * second
		in = append(in, input(t, fmt.Sprint("i", i), anchored(boot), func(b *timeline.Builder) {
			slice(b, int64(i), "work", 100*second, second)
			link(b, fmt.Sprint("w3c:", i), timeline.LinkSend, 100*second, 0)
			if i >= 7 {
				link(b, fmt.Sprint("w3c:", i-7), timeline.LinkReceive, 101*second, 0)
			}
		}))
	}
	plan := solve(t, merge.Options{}, in...)
	for i, p := range plan.Inputs {
		if p.Machine != uint32(i%2) {
			t.Fatalf("input %d is on machine %d: %+v", i, p.Machine, p)
		}
		if i > 0 && i%2 == 0 && (p.Rule != merge.SameBoot || p.Offset != 0) {
			t.Fatalf("input %d: %+v", i, p)
		}
	}
}

// A sync shared by more inputs than may share a link places all of them, except an input that has it twice, because
// which of the two is meant is unknown.
func TestManySyncs(t *testing.T) {
	for _, twice := range []int{-1, 0, 3} {
		var in []merge.Input
		for i := range 100 {
			in = append(in, input(t, fmt.Sprint("i", i), nothing, func(b *timeline.Builder) {
				slice(b, 1, "weft:sync:start", second+timeline.Nanos(i)*1001, 0)
				if i == twice {
					slice(b, 1, "weft:sync:start", 2*second, 0)
				}
			}))
		}
		reference := 0
		if twice == 0 {
			reference = 1
		}
		plan, err := merge.Solve(in, merge.Options{Reference: reference, KeepGoing: true})
		if err != nil {
			t.Fatal(err)
		}
		for i, p := range plan.Inputs {
			switch off := p.Offset + timeline.Nanos(i-reference)*1001; {
			case i == reference:
			case i == twice:
				if p.LeftOut == nil {
					t.Errorf("%d, which has the sync twice: %+v", i, p)
				}
			case p.Rule != merge.ClockSync || off < -1000 || off > 1000:
				t.Errorf("%d has the sync twice, %d: %+v", twice, i, p)
			}
		}
	}
}
