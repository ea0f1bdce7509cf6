package migrate

import (
	"errors"
	"path/filepath"
	"sync"
	"testing"
	"time"
)

// A caller that asks for a durable journal waits until it is one, even if another caller is writing it; a failure is not forgotten.
func TestJournalSync(t *testing.T) {
	dir := t.TempDir()
	j, err := openJournal(filepath.Join(dir, "journal"), filepath.Join(dir, "ballast"))
	if err != nil {
		t.Fatal(err)
	}
	began, release, failure := make(chan struct{}), make(chan struct{}), errors.New("no")
	var once sync.Once
	j.syncing.Lock()
	j.syncFile = func() error {
		once.Do(func() { close(began) })
		<-release
		return failure
	}
	j.syncing.Unlock()
	if err := j.append(&Record{Input: "a", State: Done}); err != nil {
		t.Fatal(err)
	}
	first, second := make(chan error, 1), make(chan error, 1)
	go func() { first <- j.sync() }()
	<-began
	go func() { second <- j.sync() }()
	select {
	case err := <-second:
		t.Fatalf("the second call returned before the journal was durable: %v", err)
	case <-time.After(50 * time.Millisecond):
	}
	close(release)
	for _, c := range []chan error{first, second} {
		if err := <-c; !errors.Is(err, failure) {
			t.Errorf("%v, want the failure", err)
		}
	}
	if err := j.close(); !errors.Is(err, failure) {
		t.Errorf("close: %v", err)
	}
}
