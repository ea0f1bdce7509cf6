package main

import (
	"fmt"
	"time"
)

// stages are the seconds that a conversion takes for each of its stages, as weft reports them.
type stages struct {
	Read    float64 `json:"read_s"`
	Resolve float64 `json:"resolve_s"`
	Write   float64 `json:"write_s"`
}

// stageTime compares the stages of a conversion on one core and on two.
type stageTime struct {
	input    string
	one, two stages
}

// stageTable shows how long only one core worked: of a stage that takes t on one core and u on two, 2u-t. What two cores do
// at once takes each of them longer than alone, and that counts as well.
func stageTable(all []stageTime) string {
	if len(all) == 0 {
		return ""
	}
	var rows [][]string
	for _, s := range all {
		whole := s.one.Read + s.one.Resolve + s.one.Write
		alone := 0.0
		for _, stage := range []struct {
			name     string
			one, two float64
		}{
			{"read", s.one.Read, s.two.Read},
			{"resolve: sort, calls of samples, match, nest, flows", s.one.Resolve, s.two.Resolve},
			{"write: walk, encode, compress", s.one.Write, s.two.Write},
		} {
			left := max(0, 2*stage.two-stage.one)
			alone += left
			rows = append(rows, stageRow(s.input, stage.name, stage.one, stage.two, left, whole))
		}
		rows = append(rows, stageRow(s.input, "all", whole, s.two.Read+s.two.Resolve+s.two.Write, alone, whole))
	}
	return markdown([]string{"input", "stage", "one core", "two cores", "only one works", "of the one-core time"}, rows)
}

func stageRow(input, stage string, one, two, alone, whole float64) []string {
	text := func(seconds float64) string { return timeText(time.Duration(seconds * float64(time.Second))) }
	return []string{input, stage, text(one), text(two), text(alone), fmt.Sprintf("%.0f %%", 100*alone/max(whole, 1e-9))}
}
