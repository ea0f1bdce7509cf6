package verdict

import (
	"strings"
	"testing"

	"github.com/weft-trace/weft/internal/report"
)

// Failures of a service with the same message form one issue, even in several operations; failures of another service, or with
// another message, form another issue.
func TestSameFailuresAreOneIssue(t *testing.T) {
	all := &report.All{End: 100 * millisecond, Spans: &report.AllSpans{Spans: &report.Spans{Spans: 9}, Longest: &report.SpanRow{Length: 50 * millisecond}}}
	all.Spans.Spans.Failures = []report.SpanFailure{
		{Service: "a", Operation: "read", Message: "boom", Count: 3, Origins: 3, First: 7 * millisecond}, {Service: "a", Operation: "write", Message: "boom", Count: 2, Origins: 2, First: 5 * millisecond},
		{Service: "a", Operation: "read", Message: "bang", Count: 1, Origins: 1}, {Service: "b", Operation: "read", Message: "boom", Count: 1, Origins: 1}, {Service: "a", Operation: "call", Message: "boom", Count: 4},
	}
	j := newJudge(all, 0)
	j.failureIssues()
	var titles []string
	for _, x := range j.out.Issues {
		titles = append(titles, x.Title.String())
	}
	if got, want := strings.Join(titles, "; "), "2 operations of a fail 5 times with one message; read of a fails once; read of b fails once"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	if proof := j.out.Issues[0].Proof.String(); proof != "“boom”; the first at 5.00 ms." {
		t.Errorf("%s", proof)
	}
}

// A page whose thread hardly ran is not blamed for being slow.
func TestWaitingForTheMachine(t *testing.T) {
	cpu := 20 * millisecond
	all := &report.All{End: 1000 * millisecond, Utilisation: &report.Utilisation{End: 1000 * millisecond, Threads: []report.ThreadUse{{
		ThreadID: report.ThreadID{Thread: "CrRendererMain"}, Busy: 100 * millisecond, CPU: &cpu, CPUOf: 100 * millisecond,
	}}}, Inputs: &report.AllInputs{Inputs: &report.Inputs{}, List: []report.Interaction{{Kind: report.KeyInput, Latency: 300 * millisecond}}}}
	v := Of(all, nil, nil)
	if got, want := v.Heading.String(), "The page was kept waiting: its thread ran for only 20 % of 100 ms, and the slowest input took 300 ms"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	cpu = 90 * millisecond
	if got := Of(all, nil, nil).Heading.String(); strings.Contains(got, "machine") {
		t.Errorf("with 90 %% on a CPU: %q", got)
	}
}

// A request has the name of its row in the waterfall; the root of a host is "/".
func TestNamesOfRequests(t *testing.T) {
	for _, c := range [][3]string{
		{"GET", "http://e.org/", "/"}, {"GET", "http://e.org", "/"}, {"POST", "http://e.org/", "POST /"}, {"GET", "http://e.org/a/b.js?x=1", "b.js"}, {"GET", "http://e.org/api/seq/15", "seq/15"},
	} {
		if got := requestName(&report.SpanRow{Service: "e.org", Operation: c[0], URL: c[1]}); got != c[2] {
			t.Errorf("%s %s is called %q, want %q", c[0], c[1], got, c[2])
		}
	}
}

func TestNamesOfKernels(t *testing.T) {
	for kernel, want := range map[string]string{
		"void gemm_kernel<float, 128>(float const*, int)":                               "gemm_kernel",
		"void at::native::(anonymous namespace)::cunn_SoftMaxForward<4, float>(float*)": "cunn_SoftMaxForward",
		"(anonymous namespace)::f(int, float)":                                          "f",
		"ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgs)":                    "ncclDevKernel_AllReduce_Sum_f32_RING_LL",
	} {
		if got := kernelName(kernel); got != want {
			t.Errorf("%q is called %q, want %q", kernel, got, want)
		}
	}
}
