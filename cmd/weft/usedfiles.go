package main

import (
	"io/fs"
	"os"
	"sync"
)

// readFlags are the flags that name a file to read.
var readFlags = [...]string{"phases", "program", "script", "ui"}

// usedFiles tracks the files that a run reads and writes. No output replaces one of them, even with --force.
type usedFiles struct {
	lock    sync.Mutex
	read    map[string]fs.FileInfo // by name
	written map[string]bool        // by placeKey
	folders folders
}

func newUsedFiles() *usedFiles {
	return &usedFiles{read: map[string]fs.FileInfo{}, written: map[string]bool{}, folders: folders{}}
}

// reads records files that the run reads or will read. openInput records the files that it opens; reads is for files that are
// opened after an output is created, or elsewhere.
func (u *usedFiles) reads(names ...string) {
	for _, name := range names {
		if info, err := os.Stat(name); err == nil {
			u.note(name, info)
		}
	}
}

func (u *usedFiles) note(name string, info fs.FileInfo) {
	if u == nil || !info.Mode().IsRegular() {
		return
	}
	u.lock.Lock()
	defer u.lock.Unlock()
	u.read[name] = info
}

// checkRead rejects an output path that is a file the run reads, under any name.
func (u *usedFiles) checkRead(place string) error {
	out, err := os.Stat(place)
	if u == nil || err != nil || !out.Mode().IsRegular() {
		return nil // no file to lose
	}
	u.lock.Lock()
	defer u.lock.Unlock()
	for _, in := range u.read {
		if os.SameFile(in, out) {
			return usagef("%s is an input; choose another place for the output", place)
		}
	}
	return nil
}

// check rejects a path as checkRead does, and also the path of another output; "-" is standard output.
func (u *usedFiles) check(place string) error {
	if u == nil {
		return nil
	}
	u.lock.Lock()
	written := u.written[u.folders.placeKey(place)]
	u.lock.Unlock()
	switch info, err := os.Stat(place); {
	case place != "-" && err == nil && !info.Mode().IsRegular():
		return nil // several outputs may go to a device
	case written:
		return usagef("%s cannot hold two outputs; choose another place for one of them", outputName(place))
	case place == "-":
		return nil
	}
	return u.checkRead(place)
}

// take reserves a path for an output, or rejects it as check does.
func (u *usedFiles) take(place string) error {
	err := u.check(place)
	if err == nil && u != nil {
		u.lock.Lock()
		defer u.lock.Unlock()
		u.written[u.folders.placeKey(place)] = true
	}
	return err
}
