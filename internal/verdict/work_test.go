package verdict

import (
	"testing"

	"github.com/weft-trace/weft/internal/report"
	"github.com/weft-trace/weft/internal/timeline"
)

// A task is mostly one part only if that part takes at least half of it; functions without a name or with only an address are not
// named.
func TestMostly(t *testing.T) {
	const ms = timeline.Nanos(1e6)
	kinds := []report.CategoryTime{{Category: "paint", Time: 61 * ms}, {Category: "layout", Time: 21 * ms}}
	for want, task := range map[string]report.Task{
		"nothing is recorded inside it":             {Name: "RunTask", Duration: 100 * ms, Work: report.Work{Parts: []report.WorkPart{{Name: "RunTask", Self: 100 * ms}}}},
		"mostly f, 50.0 ms":                         {Duration: 100 * ms, Work: report.Work{Parts: []report.WorkPart{{Name: "f", Self: 50 * ms}}, ByCategory: kinds}},
		"spread over paint 61.0 ms, layout 21.0 ms": {Duration: 100 * ms, Work: report.Work{Parts: []report.WorkPart{{Name: "f", Self: 49 * ms}}, ByCategory: kinds}},
		"f 49.0 ms of it":                           {Duration: 100 * ms, Work: report.Work{Parts: []report.WorkPart{{Name: "f", Self: 49 * ms}}, ByCategory: kinds[:1]}},
		"mostly a function of libxul.so, 90.0 ms":   {Duration: 100 * ms, Work: report.Work{Parts: []report.WorkPart{{Name: "0x7ff", Location: "/usr/lib/libxul.so", Self: 90 * ms}}}},
		"mostly something without a name, 90.0 ms":  {Name: "RunTask", Duration: 100 * ms, Work: report.Work{Parts: []report.WorkPart{{Self: 90 * ms}}}},
	} {
		if got := mainly(&task).String(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	empty := report.Task{Duration: ms}
	if got := mainly(&empty).String(); got != "nothing is recorded inside it" {
		t.Errorf("a task without parts: %q", got)
	}
}

// Slices around all the work of a task do not name it.
func TestWrappers(t *testing.T) {
	for name, want := range map[string]bool{
		"RunTask": true, "ThreadControllerImpl::RunTask": true, "ThreadPool_RunTask": true, "v8.run": true, "FunctionCall": true, "(program)": true,
		"Layout": false, "RunTaskLater": false, "onclick": false, "": false,
	} {
		if got := isWrapper(name); got != want {
			t.Errorf("%q: %v", name, got)
		}
	}
}
