package merge

import "testing"

func TestIsCollective(t *testing.T) {
	for _, c := range []struct {
		name, category string
		want           bool
	}{
		{"ncclDevKernel_AllReduce_Sum_f32_RING_LL", "kernel", true},
		{"gloo:all_gather", "", true},
		{"MPI_Barrier", "", true},
		{"c10d::reduce_scatter_tensor", "cpu_op", false}, // the launch
		{"ncclDevKernel_SendRecv", "kernel", false},
		{"ncclDevKernel_Broadcast_RING_LL", "kernel", false}, // the root does not wait
		{"compile", "", false},
		{"", "", false},
	} {
		if got := isCollective([]byte(c.name), []byte(c.category)); got != c.want {
			t.Errorf("isCollective(%q, %q) = %v", c.name, c.category, got)
		}
	}
}
