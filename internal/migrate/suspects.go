package migrate

import (
	"encoding/hex"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"strings"
	"sync"
)

// maxDeaths is how often the process may die while it converts an input alone. Machines that are taken away end it as well,
// hence several times.
const maxDeaths = 3

func crashFailure() *failure {
	return failf(KindCrash, "the process died %d times while it converted only this; --retry-failed tries it again", maxDeaths)
}

// suspects are the inputs that were being converted when a run died. They come last and alone.
type suspects struct {
	mu     sync.Mutex
	path   string
	inputs map[string]int // number of inputs of a file, by its hash in hex
	counts map[string]int // deaths while alone, by "INPUT.MEMBER" in hex
}

// openSuspects removes the temporary files of runs that died, and remembers what these converted.
func openSuspects(s state, shard Shard) (*suspects, error) {
	list := &suspects{path: s.path("suspects-" + shard.String() + ".json"), counts: map[string]int{}}
	if text, err := os.ReadFile(list.path); err == nil {
		_ = json.Unmarshal(text, &list.counts) // what is damaged says nothing
	}
	entries, err := os.ReadDir(s.path(tempFolder))
	if err != nil {
		return nil, err
	}
	var temps []string
	for _, e := range entries {
		// <shard>.<input>.<member>.<random>[.alone].tmp
		parts := strings.Split(e.Name(), ".")
		if len(parts) < 5 || shard.Count > 1 && parts[0] != shard.String() {
			continue
		}
		key := parts[1] + "." + parts[2]
		if deaths, known := list.counts[key]; !known || parts[4] == "alone" {
			if parts[4] == "alone" {
				deaths++
			}
			list.counts[key] = deaths
		}
		temps = append(temps, s.path(tempFolder+"/"+e.Name()))
	}
	list.index()
	if len(temps) > 0 {
		if err := list.save(); err != nil {
			return nil, err
		}
	}
	for _, temp := range temps {
		if err := os.Remove(temp); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
	}
	return list, nil
}

func (s *suspects) index() {
	s.inputs = map[string]int{}
	for key := range s.counts {
		input, _, _ := strings.Cut(key, ".")
		s.inputs[input]++
	}
}

// save writes the list, or removes it when it is empty.
func (s *suspects) save() error {
	if len(s.counts) == 0 {
		if err := os.Remove(s.path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		return nil
	}
	text, err := json.Marshal(s.counts)
	if err != nil {
		return err
	}
	if err := os.WriteFile(s.path+".tmp", text, 0o666); err != nil {
		return err
	}
	return os.Rename(s.path+".tmp", s.path)
}

func hexKey(k inputKey) string { return hex.EncodeToString(k[:]) }

func suspectKey(r *Record) string { return hexKey(keyOf(r.Input, "")) + "." + hexKey(r.key()) }

// has reports whether a file, or a member of it, is suspected.
func (s *suspects) has(input string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.inputs) > 0 && s.inputs[hexKey(keyOf(input, ""))] > 0
}

// deaths returns how often the process died while it converted an input alone.
func (s *suspects) deaths(r *Record) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.counts) == 0 {
		return 0
	}
	return s.counts[suspectKey(r)]
}

// done takes an input from the list: the process has survived it.
func (s *suspects) done(r *Record) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.counts) == 0 {
		return
	}
	key := suspectKey(r)
	if _, ok := s.counts[key]; !ok {
		return
	}
	delete(s.counts, key)
	s.index()
	_ = s.save() // an input that stays in the list is converted alone once more
}
