package migrate

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// errLocked is the error for a lock that another process holds.
var errLocked = errors.New("locked")

// lock excludes other runs on the same work: on the same shard, and on everything. The lock ends with the process.
func (s state) lock(shard Shard) (unlock func(), err error) {
	name := "lock"
	var common *os.File
	if shard.Count > 1 {
		if common, err = s.lockFile(name, true); err != nil {
			return nil, err
		}
		name = "lock-" + shard.String()
	}
	own, err := s.lockFile(name, false)
	if err != nil {
		if common != nil {
			common.Close()
		}
		return nil, err
	}
	host, _ := os.Hostname()
	holder := fmt.Sprintf("process %d on %s since %s", os.Getpid(), host, time.Now().UTC().Format(time.RFC3339))
	_ = os.WriteFile(s.path(name+".holder"), []byte(holder+"\n"), 0o666) // only for people to read
	return func() {
		os.Remove(s.path(name + ".holder"))
		own.Close()
		if common != nil {
			common.Close()
		}
	}, nil
}

// lockFile locks a file, exclusively or shared.
func (s state) lockFile(name string, shared bool) (*os.File, error) {
	f, err := openLocked(s.path(name), shared)
	if err == nil {
		return f, nil
	}
	out := filepath.Dir(s.dir)
	if !errors.Is(err, errLocked) {
		return nil, stopped(err, "%s: %s", s.path(name), cause(err))
	}
	who := "another run"
	holders, _ := filepath.Glob(s.path("lock*.holder"))
	if !shared {
		if own := s.path(name + ".holder"); name != "lock" || fileExists(own) {
			holders = []string{own}
		}
	}
	for _, holder := range holders {
		if text, err := os.ReadFile(holder); err == nil && len(text) > 0 {
			who = strings.TrimSpace(string(text))
			break
		}
	}
	return nil, stopped(errLocked, "%s is in use: %s works on it", out, who)
}

func fileExists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}
