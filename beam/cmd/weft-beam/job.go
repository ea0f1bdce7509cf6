package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	jobpb "github.com/apache/beam/sdks/v2/go/pkg/beam/model/jobmanagement_v1"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/weft-trace/weft/beam/internal/process"
	"github.com/weft-trace/weft/beam/weftio"
	"github.com/weft-trace/weft/internal/migrate"
	"github.com/weft-trace/weft/internal/words"
)

// cancelJob cancels a job by name, because Beam reveals a job's id only after it has ended.
func cancelJob(ctx context.Context, endpoint, name string) error {
	connection, err := grpc.NewClient(endpoint, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		return err
	}
	defer connection.Close()
	const patience = 1500 * time.Millisecond
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	client := jobpb.NewJobServiceClient(connection)
	jobs, err := client.GetJobs(ctx, &jobpb.GetJobsRequest{})
	if err != nil {
		return err
	}
	for _, job := range jobs.GetJobInfo() {
		if job.GetJobName() != name {
			continue
		}
		if _, err := client.Cancel(ctx, &jobpb.CancelJobRequest{JobId: job.GetJobId()}); err != nil {
			return err
		}
	}
	return nil
}

// showProgress periodically prints the progress of this process. Other runners show progress themselves.
func (o *options) showProgress(stderr io.Writer) (stop func()) {
	if o.quiet || !o.embedded && !isLoopback() {
		return func() {}
	}
	every, end := time.Minute, "\n"
	if f, ok := stderr.(*os.File); ok && isTerminal(f) {
		every, end = 200*time.Millisecond, "\r"
	}
	began := time.Now()
	ticker := time.NewTicker(every)
	ended, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		for {
			select {
			case <-ticker.C:
				fmt.Fprint(stderr, o.progressLine(time.Since(began))+end)
			case <-ended:
				if end == "\r" {
					fmt.Fprint(stderr, "\x1b[2K\r")
				}
				return
			}
		}
	}()
	return func() {
		ticker.Stop()
		close(ended)
		<-stopped
	}
}

func isTerminal(f *os.File) bool {
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}

// progressLine describes the progress of this process.
func (o *options) progressLine(took time.Duration) string {
	done, failed, bytes := process.Files.Load(), process.Failed.Load(), process.Bytes.Load()
	line := fmt.Sprintf("%d of %d files", done+process.Skipped.Load(), o.total)
	if o.total == 0 {
		line = fmt.Sprintf("%d files", done)
	}
	if failed > 0 {
		line += fmt.Sprintf(" (%d failed)", failed)
	}
	return line + fmt.Sprintf(", %.1f MB, %.0f MB/s", float64(bytes)/1e6, float64(bytes)/1e6/max(took.Seconds(), 1e-3))
}

// sumUp prints the summary of the manifest and returns the exit code.
func (o *options) sumUp(ctx context.Context, stdout io.Writer) (code int, err error) {
	s, err := weftio.Read(ctx, o.Out)
	if mistake := (*migrate.Mistake)(nil); errors.As(err, &mistake) {
		return exitMistake, err
	}
	if err != nil {
		return exitStopped, err
	}
	switch {
	case o.json:
		encoder := json.NewEncoder(stdout)
		encoder.SetEscapeHTML(false)
		err = encoder.Encode(s)
	case !o.quiet:
		_, err = io.WriteString(stdout, o.summaryText(s))
	}
	if err != nil {
		return exitStopped, err
	}
	failed := s.Total(migrate.Failed).Files
	switch {
	case len(s.States) == 0:
		return exitMistake, fmt.Errorf("there are no files to convert in %s", strings.Join(o.patterns, ", "))
	case failed > 0:
		return exitFailed, nil
	case o.strictAll && s.Lost > 0:
		return exitLost, fmt.Errorf("data of %d files was lost (--strict=all); see the manifest", s.Lost)
	case o.strict && s.LostUnusual > 0:
		return exitLost, fmt.Errorf("data of %d files was lost (--strict); see the manifest", s.LostUnusual)
	}
	return exitDone, nil
}

// summaryText formats a summary.
func (o *options) summaryText(s *weftio.Summary) string {
	var b strings.Builder
	done, failed, skipped := s.Total(migrate.Done), s.Total(migrate.Failed), s.Total(migrate.Skipped)
	fmt.Fprintf(&b, "%s: %d traces converted, %.1f MB → %.1f MB", o.Out, done.Files, float64(done.Bytes)/1e6, float64(done.BytesOut)/1e6)
	if failed.Files > 0 {
		fmt.Fprintf(&b, "; %d failed", failed.Files)
	}
	if skipped.Files > 0 {
		fmt.Fprintf(&b, "; %d skipped", skipped.Files)
	}
	b.WriteByte('\n')
	if n := process.Files.Load(); n > 0 || !o.status && o.embedded {
		fmt.Fprintf(&b, "  this job: %d files done", n)
		if u := process.Skipped.Load(); u > 0 {
			fmt.Fprintf(&b, ", %d unchanged", u)
		}
		b.WriteByte('\n')
	}
	for i := range s.Look {
		l := &s.Look[i]
		if l.Kind == "" {
			fmt.Fprintf(&b, "  %s: lost data: %d cases\n", shown(l.Input), l.Lost)
			continue
		}
		fmt.Fprintf(&b, "  %s: %s: %s\n", shown(l.Input), l.Kind, shown(l.Reason))
	}
	return b.String()
}

// shown escapes control characters in text from an input.
func shown(text string) string { return words.Printable(text) }
