//go:build unix

package view

import (
	"net/http"
	"path/filepath"
	"syscall"
	"testing"
)

// A pipe is not a file of a UI: opening one blocks until something writes to it.
func TestPipesInUI(t *testing.T) {
	folder := writeFolder(t)
	pipe := filepath.Join(folder, "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Skipf("no pipes here: %v", err)
	}
	s := startServer(t, Options{UI: openUI(t, folder)})
	done := make(chan int, 1)
	go func() { done <- askAt(t, s.Ports()[1], "GET", "/pipe").status }()
	go func() {
		if _, err := OpenUI(pipe); err == nil {
			t.Error("a pipe is taken for a UI")
		}
		done <- http.StatusNotFound
	}()
	for range 2 {
		if status := <-done; status != http.StatusNotFound { // waiting for a pipe would never end
			t.Errorf("a pipe is answered with %d", status)
		}
	}
}
