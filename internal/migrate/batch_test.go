package migrate

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// contentOf reads all files below a folder except journals and locks.
func contentOf(t *testing.T, dir string) map[string]string {
	t.Helper()
	content := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		rel, _ := filepath.Rel(dir, path)
		if filepath.Dir(rel) == stateFolder && e.Name() != manifestName && !isPart(e.Name()) {
			return nil
		}
		text, err := os.ReadFile(path)
		content[filepath.ToSlash(rel)] = string(text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return content
}

// migrateByBatch does the same as Run, in batches of two files.
func migrateByBatch(t *testing.T, c Config) (todo int) {
	t.Helper()
	scratch, err := NewScratch(c.Out)
	if err != nil {
		t.Fatal(err)
	}
	defer scratch.Close()
	c.Root = c.Inputs[0]
	own, members := map[string]*Record{}, map[string]map[string]*Record{}
	for r, err := range Records(c.Out) {
		if err != nil {
			t.Fatal(err)
		}
		if r.Member == "" {
			own[r.Input] = r
		} else {
			if members[r.Input] == nil {
				members[r.Input] = map[string]*Record{}
			}
			members[r.Input][r.Member] = r
		}
	}
	worker := new(Worker)
	var b *Batch
	save := func() {
		part, err := b.Part()
		if err == nil && len(b.Records()) > 0 {
			err = SavePart(c.Out, scratch, part)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	begin := func() {
		if b, err = NewBatch(c, nil, scratch); err != nil {
			t.Fatal(err)
		}
	}
	begin()
	for task, err := range Find(c) {
		if err != nil {
			t.Fatal(err)
		}
		path := task.Found.Path
		if !b.Decide(task, own[path], members[path]) {
			continue
		}
		todo++
		if err := b.Do(t.Context(), worker, task); err != nil {
			t.Fatal(err)
		}
		if len(b.Records()) >= 2 {
			save()
			begin()
		}
	}
	save()
	if _, err := Finish(c.Out); err != nil {
		t.Fatal(err)
	}
	return todo
}

// Batches make the same tree and manifest as a run, and either continues where the other stopped.
func TestBatchesDoWhatRunsDo(t *testing.T) {
	a := newTestArchive(t, map[string]string{
		"a.json": small, "b/A.json": small, "b/a.json": small, "damaged.json": `[{"ph":"X",`, "readme.txt": "hello", "empty": "",
		"old.tar": tarOf(t, "in/x.json", small, "readme", "hello"), "p.pftrace": "\x0a\x02\x10\x01",
	})
	if err := os.Symlink("nowhere", filepath.Join(a.in, "link.json")); err != nil {
		t.Skip(err)
	}
	config := Config{Out: a.out, Inputs: []string{a.in}, Force: true}
	n := migrateByBatch(t, config)
	if got, err := a.run(nil); err != nil || got.Run.Converted != 0 {
		t.Errorf("a run converts after batches: %+v, %v", got.Run, err)
	}
	got := contentOf(t, a.out)
	again := *a
	again.out = filepath.Join(t.TempDir(), "again")
	if _, err := again.run(nil); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(contentOf(t, again.out), got); diff != "" {
		t.Errorf("a run (-) and batches (+):\n%s", diff)
	}
	// Missing and colliding inputs are tried again, as in a run.
	config.Out = again.out
	if m := migrateByBatch(t, config); m >= n || m != 1 {
		t.Errorf("%d of %d are done again", m, n)
	}
	if diff := cmp.Diff(got, contentOf(t, again.out)); diff != "" {
		t.Errorf("batches after a run:\n%s", diff)
	}
}

// Records in parts that are not merged yet are used like records in the manifest.
func TestPartsCountBeforeTheyAreMerged(t *testing.T) {
	a := newTestArchive(t, map[string]string{"a.json": small})
	scratch, err := NewScratch(a.out)
	if err != nil {
		t.Fatal(err)
	}
	defer scratch.Close()
	b, err := NewBatch(Config{Out: a.out, Root: a.in}, nil, scratch)
	if err != nil {
		t.Fatal(err)
	}
	if err := b.Do(t.Context(), new(Worker), &Task{Found: Found{Path: "a.json"}}); err != nil {
		t.Fatal(err)
	}
	part, err := b.Part()
	if err == nil {
		err = errors.Join(SavePart(a.out, scratch, part), SavePart(a.out, scratch, part))
	}
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if s, err := Status(a.out); err != nil || s.Total(Done).Files != 1 {
			t.Errorf("%+v, %v", s, err)
		}
		if s, err := Finish(a.out); err != nil || s.Total(Done).Files != 1 {
			t.Errorf("%+v, %v", s, err)
		}
	}
	if left, _ := filepath.Glob(filepath.Join(a.out, stateFolder, "part-*")); len(left) > 0 {
		t.Errorf("%q are left", left)
	}
}

// Sweep keeps the temporary files of live processes, and removes the files of dead processes.
func TestSweep(t *testing.T) {
	out := t.TempDir()
	alive, err := NewScratch(out)
	if err != nil {
		t.Fatal(err)
	}
	dead, err := NewScratch(out)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []*Scratch{alive, dead} {
		if err := os.WriteFile(filepath.Join(c.dir, "x.tmp"), nil, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	dead.lock.Close() // as at the end of the process
	if n, err := Sweep(out); n != 1 || err != nil {
		t.Errorf("%d, %v", n, err)
	}
	if _, err := os.Stat(filepath.Join(alive.dir, "x.tmp")); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(dead.dir); err == nil {
		t.Error("the folder of the dead process is left")
	}
	if err := alive.Close(); err != nil {
		t.Error(err)
	}
	if left, _ := os.ReadDir(filepath.Join(out, stateFolder, tempFolder)); len(left) > 0 {
		t.Errorf("%v are left", left)
	}
}
