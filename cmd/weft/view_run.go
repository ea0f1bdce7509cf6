//go:build !wasm

package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/weft-trace/weft/internal/view"
)

// failureShown is how long to wait for a browser to open the page about a failure.
const failureShown = 10 * time.Second

// browserComes is how long to wait for an opened browser to connect.
const browserComes = 20 * time.Second

// A viewing is a viewJob in progress.
type viewing struct {
	*viewJob
	handover int64 // how many bytes the page can hand over

	server *view.Server
	traces []*view.Trace
	close  []io.Closer // the files of the traces

	reports   sync.WaitGroup // reports that are running or waiting
	reporting sync.Mutex     // only one report is made at a time

	terminal sync.Mutex
	progress *progress // of the current conversion; nil if there is none
}

// run shows the traces until the user ends the program or, with --once, until the UI has them.
func (j *viewJob) run(ctx context.Context) (err error) {
	for _, name := range j.files {
		if err := j.checkInput(ctx, name); err != nil {
			return err
		}
	}
	if j.output != "" {
		if err := j.env.files.check(j.output); err != nil {
			return err
		}
	}
	v := &viewing{viewJob: j, handover: view.MaxHandover}
	if v.server, err = j.listen(); err != nil {
		return err
	}
	for _, name := range j.files {
		v.traces = append(v.traces, v.server.Add(viewName(name)))
	}
	serving, stop := context.WithCancel(ctx)
	served := make(chan error, 1)
	go func() { served <- v.server.Serve(serving) }()
	defer func() {
		stop()
		err = errors.Join(err, <-served)
		v.reports.Wait()
		for _, c := range v.close {
			err = errors.Join(err, c.Close())
		}
	}()
	opened := v.open(ctx)
	failed, err := v.prepareAll(ctx)
	if err != nil {
		return err
	}
	return v.wait(ctx, failed, opened)
}

// checkInput opens and closes an input, so that a mistake in a name does not open a browser. It skips pipes, because closing
// one would end its writer.
func (j *viewJob) checkInput(ctx context.Context, name string) error {
	if info, err := os.Stat(name); name == "-" || err == nil && !info.Mode().IsRegular() && !info.IsDir() {
		return nil
	}
	src, err := openInput(ctx, j.env, name)
	if err != nil {
		return err
	}
	return src.Close()
}

// listen starts the server.
func (j *viewJob) listen() (*view.Server, error) {
	where := cmp.Or(j.ui, view.DefaultUI)
	ui, err := view.OpenUI(where)
	if err != nil {
		return nil, fmt.Errorf("--ui: %w", withoutPath(err))
	}
	if j.direct && j.port != directPort && ui.IsRelease() {
		ui.Close()
		return nil, usagef("--port: with --direct, the Perfetto UI fetches from port %d and no other; leave out --port", directPort)
	}
	server, err := view.Listen(view.Options{Port: j.port, UI: ui, Direct: j.direct})
	if err == nil {
		return server, nil
	}
	ui.Close()
	switch inUse := errors.Is(err, syscall.EADDRINUSE); {
	case inUse && j.direct:
		return nil, fmt.Errorf("port %d is in use, perhaps by trace_processor_shell; without --direct no port is needed", j.port)
	case inUse:
		return nil, fmt.Errorf("port %d is in use; without --port weft takes one that is free", j.port)
	}
	return nil, err
}

// open prints the address and opens a browser, which may take longer than converting. The channel receives whether a browser
// was opened.
func (v *viewing) open(ctx context.Context) <-chan bool {
	v.print("Looking at it: %s   (Ctrl-C ends this)\n", v.server.Address())
	if v.direct && v.server.Asks() {
		v.print("If the browser asks whether %s may access apps on this device, allow it: that is this program.\n", v.server.UIName())
	}
	if v.direct && v.server.Asks() && v.port != directPort {
		v.print("A Perfetto UI fetches from port %d only, unless it was built otherwise: if the one of %s does not show the trace, leave out --port.\n",
			directPort, v.server.UIName())
	}
	opened := make(chan bool, 1)
	if v.noOpen {
		opened <- false
		return opened
	}
	go func() {
		err := v.server.OpenBrowser()
		if err != nil && ctx.Err() == nil {
			v.print("No browser here. On your own machine:  ssh -N%s HOST   then open the address above.\n", v.forwards())
		}
		opened <- err == nil
		if err == nil {
			v.awaitBrowser(ctx, browserComes)
		}
	}()
	return opened
}

// awaitBrowser prints advice if an opened browser does not connect: some cannot read the file that redirects them here.
func (v *viewing) awaitBrowser(ctx context.Context, patience time.Duration) {
	select {
	case <-v.server.Entered():
	case <-ctx.Done():
	case <-time.After(patience):
		v.print("The browser has not opened the page; open the address above in it.\n")
	}
}

// forwards returns the ssh flags that forward ports to the server.
func (v *viewing) forwards() string {
	var b strings.Builder
	for _, port := range v.server.Ports() {
		fmt.Fprintf(&b, " -L %d:127.0.0.1:%[1]d", port)
	}
	return b.String()
}

// print writes to standard error, above the progress line.
func (v *viewing) print(format string, args ...any) {
	v.terminal.Lock()
	defer v.terminal.Unlock()
	write := func() { fmt.Fprintf(v.env.stderr, format, args...) }
	if v.progress == nil {
		write()
		return
	}
	v.progress.print(write)
}

// showProgress sets the progress whose line print clears first; nil: none.
func (v *viewing) showProgress(p *progress) {
	v.terminal.Lock()
	defer v.terminal.Unlock()
	v.progress = p
}

// prepareAll converts one file after the other, and returns how many failed. Failures are printed, and shown in the page.
func (v *viewing) prepareAll(ctx context.Context) (failed int, err error) {
	for i, name := range v.files {
		err := v.prepare(ctx, v.traces[i], name)
		if err != nil && ctx.Err() != nil {
			return failed, ctx.Err()
		}
		if err != nil {
			failed++
			v.print("%s %s\n", messageHead(v.env), printable(message(err)))
			v.traces[i].Failed(printable(message(err)))
		}
	}
	return failed, nil
}

// wait waits until the user ends the program or, with --once, until everything is done.
func (v *viewing) wait(ctx context.Context, failed int, opened <-chan bool) error {
	if failed == len(v.traces) {
		v.waitForFailure(ctx, opened)
		return errReported
	}
	if v.once {
		v.waitForHandover(ctx)
	} else {
		<-ctx.Done()
	}
	switch {
	case ctx.Err() != nil && v.once:
		return ctx.Err()
	case failed > 0:
		return errShown
	}
	return nil
}

// waitForHandover waits until the UI has all traces that could be converted, and the page has shown all failures.
func (v *viewing) waitForHandover(ctx context.Context) {
	for _, t := range v.traces {
		select {
		case <-t.HandedOver():
		case <-t.FailureShown():
		case <-ctx.Done():
			return
		}
	}
}

// waitForFailure waits until a browser has shown the failure, for at most failureShown.
func (v *viewing) waitForFailure(ctx context.Context, opened <-chan bool) {
	patience := time.NewTimer(failureShown)
	defer patience.Stop()
	for {
		select {
		case is := <-opened:
			if !is {
				return
			}
			opened = nil
		case <-v.traces[0].FailureShown():
			return
		case <-patience.C:
			return
		case <-ctx.Done():
			return
		}
	}
}

// viewName returns the name of a file for the page.
func viewName(name string) string {
	if name == "-" {
		return inputName(name)
	}
	return printable(filepath.Base(name))
}
