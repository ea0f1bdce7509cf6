// Command weft-beam converts trace archives with Apache Beam, on this machine or on the engine of a cluster. See docs/batch.md.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/log"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/options/jobopts"

	_ "github.com/apache/beam/sdks/v2/go/pkg/beam/io/filesystem/memfs"
	_ "github.com/apache/beam/sdks/v2/go/pkg/beam/io/filesystem/s3"
	_ "github.com/apache/beam/sdks/v2/go/pkg/beam/x/beamx"

	"github.com/weft-trace/weft/beam/internal/process"
	"github.com/weft-trace/weft/beam/weftio"
)

// Exit codes, as in weft migrate.
const (
	exitDone        = 0
	exitFailed      = 1 // some files failed, or the job did
	exitMistake     = 2
	exitLost        = 3
	exitStopped     = 5
	exitInterrupted = 130
)

func main() {
	o := defineFlags(flag.CommandLine)
	flag.Usage = func() { usage(flag.CommandLine.Output()) }
	flag.Parse()
	log.SetupLogging("warn", "text") // otherwise Beam prints a dozen lines
	beam.Init()                      // does not return in a worker
	if *jobopts.Endpoint == "" && !o.verbose {
		slog.SetDefault(slog.New(slog.DiscardHandler)) // Prism logs each error four times, and the job returns it anyway
	}
	os.Exit(o.main(os.Stdout, os.Stderr))
}

// main runs the job and returns the exit code.
func (o *options) main(stdout, stderr io.Writer) int {
	code, err := o.run(stdout, stderr)
	if err != nil {
		fmt.Fprintf(stderr, "weft-beam: %v\n", err)
	}
	return code
}

func (o *options) run(stdout, stderr io.Writer) (code int, err error) {
	if o.status {
		return o.sumUp(context.Background(), stdout)
	}
	if err := o.complete(flag.Args()); err != nil {
		return exitMistake, err
	}
	remove, err := o.ownTempFolder()
	if err != nil {
		return exitStopped, err
	}
	defer remove()
	ctx, cancel := context.WithCancel(context.Background()) // without a deadline, because the embedded Prism would panic
	defer cancel()
	if code, err := o.prepare(ctx, stderr); err != nil {
		return code, err
	}
	interrupted := o.handleSignals(ctx, cancel, stderr)
	stopProgress := o.showProgress(stderr)
	err = o.job(ctx)
	stopProgress()
	process.End() // conversions can outlive the job
	if !isRemote(o.Out) {
		_, _ = weftio.Sweep(o.Out) // local workers do not clean up when they end; files of live workers are kept
	}
	if interrupted() {
		return exitInterrupted, errors.New("interrupted; the same command goes on")
	}
	if err != nil {
		return jobError(err)
	}
	if o.isDryRun() {
		fmt.Fprintln(stderr, "weft-beam: the job was made and not run (--dry_run)")
		return exitDone, nil
	}
	return o.sumUp(ctx, stdout)
}

// jobError classifies an error from a job. Errors from workers arrive as text only.
func jobError(err error) (code int, reported error) {
	text := err.Error()
	if i := strings.LastIndex(text, weftio.PlaceMark); i >= 0 {
		cause, _, _ := strings.Cut(text[i+len(weftio.PlaceMark):], "\n")
		return exitStopped, fmt.Errorf("stopped: %s; the same command goes on", strings.TrimSpace(cause))
	}
	return exitFailed, fmt.Errorf("the job failed: %s; the same command goes on", strings.TrimSpace(text))
}

// handleSignals ends the job on SIGINT, SIGTERM or SIGHUP: conversions in this process, and a job on another runner. A second
// signal ends the process at once. interrupted reports whether there was a signal, in which case it first waits until the job has
// been stopped.
func (o *options) handleSignals(ctx context.Context, cancel func(), stderr io.Writer) (interrupted func() bool) {
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	began, ended := make(chan struct{}), make(chan struct{})
	go func() {
		<-signals
		close(began)
		go func() {
			<-signals
			os.Exit(exitInterrupted)
		}()
		if o.isRemoteRunner() {
			if err := cancelJob(context.WithoutCancel(ctx), *jobopts.Endpoint, *jobopts.JobName); err != nil {
				fmt.Fprintf(stderr, "weft-beam: the job %s may go on: %v\n", *jobopts.JobName, err)
			}
		}
		process.End()
		cancel()
		close(ended)
	}()
	return func() bool {
		select {
		case <-began:
			<-ended
			return true
		default:
			return false
		}
	}
}

// prepare checks the inputs and the output folder before the job is created, and removes temporary files of dead jobs.
func (o *options) prepare(ctx context.Context, stderr io.Writer) (code int, err error) {
	if o.again, err = weftio.HasRecords(ctx, o.Out); err != nil {
		return exitStopped, err
	}
	if o.isDryRun() {
		return 0, nil
	}
	if o.embedded { // the job's error would only be "failed"
		n, err := weftio.Count(ctx, o.Options, maxFilesOnPrism+1, o.patterns...)
		if err != nil {
			return exitMistake, err
		}
		if n > maxFilesOnPrism {
			return exitMistake, fmt.Errorf("there are more than %d files, and prism holds all that it knows of them in memory; use weft migrate, or another runner", maxFilesOnPrism)
		}
		o.total = int64(n)
	}
	if !isRemote(o.Out) {
		if n, err := weftio.Sweep(o.Out); err == nil && n > 0 {
			fmt.Fprintf(stderr, "weft-beam: %d temporary files of jobs that died are removed\n", n)
		}
	}
	if *jobopts.JobName == "" {
		*jobopts.JobName = fmt.Sprintf("weft-beam-%08x", rand.Uint32())
	}
	return 0, nil
}

// job builds and runs the pipeline.
func (o *options) job(ctx context.Context) (err error) {
	defer func() { // Beam panics on invalid pipelines
		if value := recover(); value != nil {
			err = fmt.Errorf("%v", value)
		}
	}()
	p, s := beam.NewPipelineWithRoot()
	weftio.Migrate(s, o.Options, o.again, o.patterns...)
	_, err = beam.Run(ctx, o.runner(), p)
	return err
}
