package migrate

import (
	"bufio"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"
)

// memoryLimit returns how many bytes of memory the process may use: those of the machine, or of its cgroup if that allows less.
func memoryLimit() int64 {
	limit := int64(0)
	lower := func(n int64) {
		if n > 0 && (limit == 0 || n < limit) {
			limit = n
		}
	}
	if f, err := os.Open("/proc/meminfo"); err == nil {
		defer f.Close()
		for lines := bufio.NewScanner(f); lines.Scan(); {
			if fields := strings.Fields(lines.Text()); len(fields) > 1 && fields[0] == "MemTotal:" {
				kib, _ := strconv.ParseInt(fields[1], 10, 64)
				lower(kib << 10)
				break
			}
		}
	}
	cgroups, _ := os.ReadFile("/proc/self/cgroup")
	for _, file := range memoryFiles(string(cgroups)) {
		if text, err := os.ReadFile(file); err == nil {
			n, _ := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64) // "max" is not a number
			lower(n)
		}
	}
	return limit
}

// memoryFiles returns the files that can have a limit, of the cgroup of the process and of those that it is in: Slurm and systemd make
// one for each job, deep in the tree. In a container its own one is the root. cgroups is /proc/self/cgroup.
func memoryFiles(cgroups string) (files []string) {
	const root, root1 = "/sys/fs/cgroup", "/sys/fs/cgroup/memory"
	files = []string{root + "/memory.max", root1 + "/memory.limit_in_bytes"}
	for line := range strings.Lines(cgroups) {
		parts := strings.SplitN(strings.TrimSpace(line), ":", 3)
		if len(parts) < 3 {
			continue
		}
		dir, name := root, "memory.max"
		if slices.Contains(strings.Split(parts[1], ","), "memory") {
			dir, name = root1, "memory.limit_in_bytes"
		} else if parts[1] != "" {
			continue
		}
		for group := path.Clean("/" + parts[2]); group != "/"; group = path.Dir(group) {
			files = append(files, path.Join(dir, group, name))
		}
	}
	return files
}
