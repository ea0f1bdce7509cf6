package migrate

import (
	"slices"
	"testing"
)

func TestMemoryFiles(t *testing.T) {
	const root, root1 = "/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"
	for cgroups, want := range map[string][]string{
		"":           {root, root1},
		"0::/\n":     {root, root1},
		"odd\n0:x\n": {root, root1},
		"0::/slurm/job_7/step_0\n": {root, root1, "/sys/fs/cgroup/slurm/job_7/step_0/memory.max", "/sys/fs/cgroup/slurm/job_7/memory.max",
			"/sys/fs/cgroup/slurm/memory.max"},
		"5:devices:/d\n4:memory,x:/job\n0::/\n": {root, root1, "/sys/fs/cgroup/memory/job/memory.limit_in_bytes"},
		"0::/../../other\n":                     {root, root1, "/sys/fs/cgroup/other/memory.max"},
	} {
		if got := memoryFiles(cgroups); !slices.Equal(got, want) {
			t.Errorf("%q: %q, want %q", cgroups, got, want)
		}
	}
}
