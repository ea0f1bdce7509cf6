//go:build !js

package convert_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/weft-trace/weft/convert"
	"github.com/weft-trace/weft/internal/load"
	"github.com/weft-trace/weft/internal/merge"
)

// rankOf returns the recording of a rank with a given clock error: the rank enters each collective when its work is done, and
// leaves it soon after all ranks have entered.
func rankOf(rank int, entered []int64, last []int64, off func(at int64) int64) merge.Source {
	var b strings.Builder
	b.WriteString(`{"traceEvents":[`)
	for i := range entered {
		at, end := entered[i]+off(entered[i]), last[i]+int64(rank%7)*1000+off(last[i])
		fmt.Fprintf(&b, `%s{"ph":"X","name":"ncclDevKernel_AllReduce_Sum","cat":"kernel","pid":0,"tid":7,"ts":%d.%03d,"dur":%d.%03d,"args":{"seq":"pg0:%d"}}`,
			strings.Repeat(",", min(i, 1)), at/1000, at%1000, (end-at)/1000, (end-at)%1000, i)
	}
	b.WriteString(`]}`)
	return textSource(fmt.Sprint("rank", rank), b.String())
}

// Collectives determine the offsets in a process group of any size: each of 200 ranks with wall clocks wrong by up to 5 ms is
// placed correctly to within a fraction of a millisecond. A rank whose clock is adjusted during the recording is named.
func TestCollectivesOfManyRanks(t *testing.T) {
	const ranks, steps = 200, 20
	const start, step = int64(1_700_000_000_000_000_000), int64(10_000_000)
	random := rand.New(rand.NewPCG(1, 2))
	entered, last, off := make([][]int64, ranks), make([]int64, steps), make([]int64, ranks)
	for rank := range ranks {
		off[rank] = random.Int64N(10_000_000) - 5_000_000
		for i := range int64(steps) {
			at := start + i*step + random.Int64N(1_000_000)
			entered[rank] = append(entered[rank], at)
			last[i] = max(last[i], at)
		}
	}
	sources := func(drifting int) (list []merge.Source) {
		for rank := range ranks {
			list = append(list, rankOf(rank, entered[rank], last, func(at int64) int64 {
				if rank == drifting && at > start+steps/2*step {
					return off[rank] + 2_000_000
				}
				return off[rank]
			}))
		}
		return list
	}
	solve := func(drifting int) *merge.Plan {
		job := &merge.Job{Sources: sources(drifting), Links: []string{"seq"}, Options: merge.Options{Reference: -1}, DryRun: true}
		if _, err := load.Many(context.Background(), job, convert.Options{}); !errors.Is(err, merge.ErrDryRun) {
			t.Fatal(err)
		}
		return job.Plan
	}
	placed := func(plan *merge.Plan, drifting int) {
		for rank, p := range plan.Inputs {
			truth := off[0] - off[rank]
			near := p.Rule == merge.WallClock && max(truth, -truth) < 200_000 // the collectives agree with the wall clocks
			within := p.Rule == merge.Causality && !p.AtLeast && int64(p.Low) <= truth && truth <= int64(p.High) && p.Uncertainty() < 200_000
			if rank > 0 && rank != drifting && (!near && !within || !strings.Contains(p.Evidence, "20 collectives")) {
				t.Fatalf("%d drifts; rank %d, off by %d: %+v", drifting, rank, truth, p)
			}
		}
	}
	placed(solve(-1), -1)
	plan := solve(55)
	if !strings.Contains(strings.Join(plan.Notes, "\n"), "drift: the clocks of rank0 and rank55 ") {
		t.Errorf("%q", plan.Notes)
	}
	placed(plan, 55)
}
