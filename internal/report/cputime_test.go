package report_test

import (
	"testing"

	"github.com/weft-trace/weft/internal/report"
	"github.com/weft-trace/weft/internal/selection"
)

// The CPU time of a thread is the sum over its outermost slices with a known CPU time.
func TestCPUTimeOfThreads(t *testing.T) {
	u := allOf(t, `{"traceEvents":[
		{"ph":"X","name":"task","ts":0,"dur":100,"tts":0,"tdur":20,"pid":1,"tid":1},{"ph":"X","name":"inside","ts":10,"dur":50,"tts":1,"tdur":10,"pid":1,"tid":1},
		{"ph":"X","name":"untold","ts":200,"dur":100,"pid":1,"tid":1},{"ph":"X","name":"told","ts":210,"dur":10,"tts":30,"tdur":10,"pid":1,"tid":1},
		{"ph":"X","name":"other","ts":0,"dur":100,"pid":1,"tid":2}]}`, selection.Query{}).Utilisation
	for i := range u.Threads {
		row := &u.Threads[i]
		switch {
		case row.TID.Num == 1 && (row.CPU == nil || *row.CPU != micros(30) || row.CPUOf != micros(110) || row.Busy != micros(200)):
			t.Errorf("%+v", row)
		case row.TID.Num == 2 && row.CPU != nil:
			t.Errorf("CPU time of slices that do not tell it: %d", *row.CPU)
		}
	}
}

// A thread that sleeps in a system call is not busy, wherever the call is made, and such a call is not a task.
func TestSleepingIsNotBusy(t *testing.T) {
	const text = `{"traceEvents":[
		{"ph":"X","cat":"app","name":"work","ts":0,"dur":100000,"pid":1,"tid":1},{"ph":"X","cat":"syscall","name":"futex","ts":10000,"dur":60000,"pid":1,"tid":1},
		{"ph":"X","cat":"syscall","name":"clock_nanosleep","ts":200000,"dur":300000,"pid":1,"tid":1},
		{"ph":"X","cat":"syscall","name":"openat","ts":600000,"dur":1000,"pid":1,"tid":1},{"ph":"X","cat":"app","name":"futex","ts":700000,"dur":1000,"pid":1,"tid":1}]}`
	all := allOf(t, text, selection.Query{})
	if got := all.Utilisation.Threads[0].Busy; got != micros(42_000) {
		t.Errorf("busy for %d in the plot", got)
	}
	if got := overviewOf(t, text, selection.Query{}).Threads[0].Busy; got != micros(42_000) {
		t.Errorf("busy for %d in the overview", got)
	}
	if all.Tasks == nil || len(all.Tasks.List) != 1 || all.Tasks.List[0].Name != "work" {
		t.Errorf("tasks %+v", all.Tasks)
	}
}

// All reports name the same slowest input: scrolls count, but pointer movements do not.
func TestSlowestInput(t *testing.T) {
	text := `{"traceEvents":[` + timing(1, "pointermove", 100_000, 101_000, 102_000, 900_000, 0) + "," + timing(2, "wheel", 200_000, 201_000, 202_000, 500_000, 0) + "," +
		timing(3, "click", 200_000, 201_000, 202_000, 300_000, 7) + `]}`
	if in := collectInputs(t, text, report.InputOptions{}).Inputs; in[0].Kind != report.WheelInput {
		t.Errorf("the slowest is %+v", in[0])
	}
	for i, in := range allOf(t, text, selection.Query{}).Inputs.List {
		if in.Kind.Usual() && (in.Kind != report.WheelInput || i != 1 || in.Phases == nil) {
			t.Errorf("the slowest that counts is number %d: %+v", i, in)
		}
		if in.Kind.Usual() {
			break
		}
	}
}
