package main

import (
	"bytes"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	jobpb "github.com/apache/beam/sdks/v2/go/pkg/beam/model/jobmanagement_v1"
	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/weft-trace/weft/internal/migrate"
)

// poolPort is the port of Beam's worker pool, which cannot be changed.
const poolPort = "50000"

// A cluster consists of Prism and a worker pool, each in its own process.
type cluster struct {
	endpoint string
	pool     *exec.Cmd
}

// startCluster builds Prism and the worker pool from this module's version of Beam, and starts them.
func startCluster(t *testing.T) *cluster {
	t.Helper()
	if os.Getenv(slow) == "" {
		t.Skip("set " + slow + " to build prism and a worker pool")
	}
	bin := t.TempDir()
	build := exec.Command("go", "build", "-o", bin+"/", "github.com/apache/beam/sdks/v2/go/cmd/prism", "github.com/apache/beam/sdks/v2/go/container")
	if text, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	taken, err := net.Listen("tcp", "localhost:"+poolPort)
	if err != nil {
		t.Skipf("port %s of the worker pool is in use", poolPort)
	}
	taken.Close()
	free, err := net.Listen("tcp", "localhost:0")
	if err != nil {
		t.Fatal(err)
	}
	port := free.Addr().(*net.TCPAddr).Port
	free.Close()
	temp := t.TempDir() // workers leave their binaries in it
	start := func(name string, args ...string) *exec.Cmd {
		cmd := exec.Command(filepath.Join(bin, name), args...)
		cmd.Env = append(os.Environ(), "TMPDIR="+temp)
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { cmd.Process.Kill(); cmd.Wait() })
		return cmd
	}
	c := &cluster{endpoint: fmt.Sprintf("localhost:%d", port)}
	start("prism", "--job_port", fmt.Sprint(port), "--serve_http=false")
	c.pool = start("container", "--worker_pool")
	for _, address := range []string{c.endpoint, "localhost:" + poolPort} {
		for i := 0; ; i++ {
			if connection, err := net.Dial("tcp", address); err == nil {
				connection.Close()
				break
			}
			if i > 100 {
				t.Fatalf("nobody listens at %s", address)
			}
			time.Sleep(100 * time.Millisecond)
		}
	}
	return c
}

// args returns the arguments of a job on the cluster. The worker is a weft-beam binary, because the test binary would run tests.
func (c *cluster) args(t *testing.T, in, out string) []string {
	t.Helper()
	worker := filepath.Join(t.TempDir(), "weft-beam")
	if text, err := exec.Command("go", "build", "-o", worker, ".").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	return []string{"--runner", "universal", "--endpoint", c.endpoint, "--environment_type", "EXTERNAL", "--environment_config", "localhost:" + poolPort,
		"--worker_binary", worker, "--shared-fs", "--in", in, "--out", out}
}

// B10: three processes write the same tree as one process.
func TestCluster(t *testing.T) {
	c := startCluster(t)
	in := makeTraces(t, 100, 100)
	out := filepath.Join(t.TempDir(), "out")
	args := c.args(t, in, out)
	for range 2 {
		weftBeam(t, exitDone, args...)
	}
	if diff := cmp.Diff(wantContent(t, in), contentOf(t, out)); diff != "" {
		t.Errorf("one process (-), three (+):\n%.2000s", diff)
	}
}

// B10: if a worker dies, the job fails with an error, and the next job continues.
func TestWorkerKilled(t *testing.T) {
	c := startCluster(t)
	in := makeTraces(t, 3000, 3000)
	out := filepath.Join(t.TempDir(), "out")
	var stderr bytes.Buffer
	args := c.args(t, in, out)
	cmd := command(t, args...)
	cmd.Stderr = &stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	waitForWorkers(t, out)
	if err := syscall.Kill(childOf(t, childOf(t, c.pool.Process.Pid)), syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	cmd.Wait()
	if code := cmd.ProcessState.ExitCode(); code != exitFailed || !strings.Contains(stderr.String(), "weft-beam: the job failed") {
		t.Errorf("exit code %d\n%s", code, stderr.String())
	}
	t.Logf("%.500s", stderr.String())
	weftBeam(t, exitDone, args...)
}

// B7: a signal also cancels a job on another runner.
func TestClusterInterrupted(t *testing.T) {
	c := startCluster(t)
	in := makeTraces(t, 3000, 3000)
	out := filepath.Join(t.TempDir(), "out")
	var stderr bytes.Buffer
	cmd := command(t, c.args(t, in, out)...)
	cmd.Stderr = &stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	waitForWorkers(t, out)
	began := time.Now()
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	cmd.Wait()
	if code := cmd.ProcessState.ExitCode(); code != exitInterrupted || strings.Contains(stderr.String(), "may go on") {
		t.Errorf("exit code %d\n%s", code, stderr.String())
	}
	t.Logf("it took %v", time.Since(began))
	// The worker may finish its bundle, but no other bundle starts.
	connection, err := grpc.NewClient(c.endpoint, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	defer connection.Close()
	jobs, err := jobpb.NewJobServiceClient(connection).GetJobs(t.Context(), &jobpb.GetJobsRequest{})
	if err != nil || len(jobs.GetJobInfo()) != 1 {
		t.Fatalf("%v, %v", jobs, err)
	}
	if state := jobs.GetJobInfo()[0].GetState(); state != jobpb.JobState_CANCELLED && state != jobpb.JobState_CANCELLING {
		t.Errorf("the job is %v", state)
	}
}

// waitForWorkers waits until a worker is converting.
func waitForWorkers(t *testing.T, out string) {
	t.Helper()
	for range 6000 {
		if names, _ := filepath.Glob(filepath.Join(out, migrate.StateFolder, "tmp", "process-*", "*")); len(names) > 0 {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Fatal("no worker converts")
}

// childOf returns a child of a process. The pool starts a boot program for each worker, which starts the worker.
func childOf(t *testing.T, pid int) (child int) {
	t.Helper()
	text, err := exec.Command("pgrep", "-P", fmt.Sprint(pid)).Output()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := fmt.Sscan(string(text), &child); err != nil {
		t.Fatal(err)
	}
	return child
}

// B4: Prism can process a hundred thousand files.
func TestHundredThousandFiles(t *testing.T) {
	if os.Getenv(slow) == "" {
		t.Skip("set " + slow + " for 100,000 files")
	}
	const n = 100_000
	in := filepath.Join(t.TempDir(), "in")
	for i := range n {
		dir := filepath.Join(in, fmt.Sprint(i/1000))
		if i%1000 == 0 {
			if err := os.MkdirAll(dir, 0o777); err != nil {
				t.Fatal(err)
			}
		}
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprint(i)), []byte("no trace"), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	cmd := command(t, "--in", in, "--out", filepath.Join(t.TempDir(), "out"))
	text, err := cmd.CombinedOutput()
	if err != nil || !strings.Contains(string(text), "100000 skipped") {
		t.Fatalf("%v\n%s", err, text)
	}
	rss := maxRSS(cmd.ProcessState)
	t.Logf("peak RSS %d MiB", rss>>20)
	if rss > 900<<20 {
		t.Errorf("peak RSS %d MiB", rss>>20)
	}
}
