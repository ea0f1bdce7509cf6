package migrate

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/weft-trace/weft/internal/extsort"
)

// The state of a migration is in a folder below the output folder.
const (
	stateFolder  = ".weft-migrate"
	manifestName = "manifest.jsonl"
	mergedName   = "merged.json"
	tempFolder   = "tmp"
)

// state is the folder with the records of a migration.
type state struct{ dir string }

func stateOf(out string) state { return state{filepath.Join(out, stateFolder)} }

func (s state) path(name string) string { return filepath.Join(s.dir, name) }

// Runs write journals line by line; batches write each part as a whole. Parts are removed once they are in the manifest.
const (
	journalPrefix = "journal-"
	partPrefix    = "part-"
	linesSuffix   = ".jsonl"
)

func isJournal(name string) bool {
	return (strings.HasPrefix(name, journalPrefix) || isPart(name)) && strings.HasSuffix(name, linesSuffix)
}

func isPart(name string) bool { return strings.HasPrefix(name, partPrefix) }

// journals returns the names of the journals and parts, sorted.
func (s state) journals() (names []string, err error) {
	entries, err := os.ReadDir(s.dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	for _, e := range entries {
		if isJournal(e.Name()) {
			names = append(names, e.Name())
		}
	}
	return names, err
}

// merged records how much of each journal is in the manifest, so that this part is not read again. It is valid only for the
// manifest that it was written with.
type merged struct {
	ManifestSize  int64            `json:"manifest_size"`
	ManifestMtime int64            `json:"manifest_mtime_ns"`
	Journals      map[string]int64 `json:"journals"` // bytes by name
	Header        *header          `json:"header"`   // latest header in them
}

func (s state) readMerged() (m merged) {
	text, err := os.ReadFile(s.path(mergedName))
	info, statErr := os.Stat(s.path(manifestName))
	if err != nil || statErr != nil || json.Unmarshal(text, &m) != nil ||
		info.Size() != m.ManifestSize || info.ModTime().UnixNano() != m.ManifestMtime {
		return merged{}
	}
	return m
}

// eachLine calls fn for every complete line of a file from an offset on, and returns the end of the last one. Text after the
// last line feed was cut off when a process died, and is ignored.
func eachLine(f io.ReaderAt, from int64, fn func(line []byte, at int64) error) (end int64, err error) {
	r := bufio.NewReaderSize(io.NewSectionReader(f, from, 1<<62), 256<<10)
	end = from
	var long []byte
	for {
		part, err := r.ReadSlice('\n')
		if errors.Is(err, bufio.ErrBufferFull) && len(long) <= maxLine {
			long = append(long, part...)
			continue
		}
		if err == io.EOF {
			return end, nil
		}
		if err != nil {
			return end, err
		}
		line := part
		if len(long) > 0 {
			line, long = append(long, part...), nil
		}
		if err := fn(bytes.TrimSuffix(line, []byte("\n")), end); err != nil {
			return end, err
		}
		end += int64(len(line))
	}
}

// records reads the records of all earlier runs in input order, one for each input.
type records struct {
	header   *header // the latest; nil if there was no run
	root     string  // of the latest run; "": unknown
	fresh    bool    // the manifest already contains everything
	ends     map[string]int64
	manifest *os.File
	sorter   sorter
	merger   *extsort.Merger[item]
	next     *item
}

// openRecords opens the records of earlier runs. Memory is bounded, because journals are sorted on disk.
func (s state) openRecords() (*records, error) {
	r := &records{ends: map[string]int64{}}
	if err := r.open(s); err != nil {
		r.close()
		return nil, err
	}
	return r, nil
}

func (r *records) open(s state) error {
	var all []extsort.Sequence[item]
	f, err := os.Open(s.path(manifestName))
	switch {
	case err == nil:
		r.manifest = f
		sequence, err := r.readManifest(f)
		if err != nil {
			return fmt.Errorf("%s: %w", f.Name(), err)
		}
		all = append(all, sequence)
	case !errors.Is(err, fs.ErrNotExist):
		return err
	}
	names, err := s.journals()
	if err != nil {
		return err
	}
	known := s.readMerged()
	if known.Header != nil {
		r.latest(known.Header)
	}
	for _, name := range names {
		if err := r.readJournal(s.path(name), name, known.Journals[name]); err != nil {
			return fmt.Errorf("%s: %w", s.path(name), err)
		}
	}
	r.fresh = r.manifest != nil && r.sorter.n == 0
	sorted, err := r.sorter.sequences()
	if err != nil {
		return err
	}
	r.merger, err = newMerger(append(all, sorted...))
	return err
}

func newMerger(sequences []extsort.Sequence[item]) (*extsort.Merger[item], error) {
	return extsort.NewMerger(sequences, compareItems)
}

// latest keeps a header, unless it is older than the one kept so far.
func (r *records) latest(h *header) {
	if r.header == nil || h.At >= r.header.At {
		if h.Root != "" {
			r.root = h.Root
		}
		r.header = h
	}
}

// readManifest returns the records of a manifest, which are already sorted.
func (r *records) readManifest(f *os.File) (extsort.Sequence[item], error) {
	lines := bufio.NewScanner(f)
	lines.Buffer(make([]byte, 64<<10), maxLine)
	if !lines.Scan() {
		return nil, errors.Join(errors.New("the manifest is empty; remove it, the journals have everything"), lines.Err())
	}
	h, _, err := parseLine(lines.Bytes())
	if err == nil && h == nil {
		err = errors.New("the first line is not the header of a manifest")
	}
	if err != nil {
		return nil, err
	}
	r.latest(h)
	return func(it *item) (bool, error) {
		if !lines.Scan() {
			return false, lines.Err()
		}
		_, record, err := parseLine(lines.Bytes())
		if err != nil || record == nil {
			return false, fmt.Errorf("%s: a line is damaged: %.80q", f.Name(), lines.Bytes())
		}
		*it = item{input: record.Input, member: record.Member, record: record}
		return true, nil
	}, nil
}

// readJournal adds the records of a journal that are not in the manifest yet.
func (r *records) readJournal(path, name string, from int64) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	r.ends[name], err = eachLine(f, from, func(line []byte, at int64) error {
		h, record, err := parseLine(line)
		switch {
		case err == errLine:
			return fmt.Errorf("the line at byte %d is damaged: %.80q; remove it to go on", at, line)
		case err != nil:
			return err
		case h != nil:
			r.latest(h)
			return nil
		}
		return r.sorter.add(item{input: record.Input, member: record.Member, at: record.At, line: bytes.Clone(line)})
	})
	return err
}

// read returns the next record, or nil after the last one.
func (r *records) read() (*Record, error) {
	for {
		it, err := r.readItem()
		if it == nil || err != nil {
			return nil, err
		}
		record := it.record
		if record == nil {
			if _, record, err = parseLine(it.line); err != nil {
				return nil, err
			}
		}
		if record.State != forgotten {
			return record, nil
		}
	}
}

// readItem returns the latest item of the next input, or nil after the last one.
func (r *records) readItem() (*item, error) {
	var latest *item
	for {
		if r.next == nil {
			it := new(item)
			ok, err := r.merger.Next(it)
			if err != nil {
				return nil, err
			}
			if !ok {
				return latest, nil
			}
			r.next = it
		}
		if latest != nil && (latest.input != r.next.input || latest.member != r.next.member) {
			return latest, nil
		}
		latest, r.next = r.next, nil
	}
}

func (r *records) close() {
	if r.manifest != nil {
		r.manifest.Close()
	}
	r.sorter.close()
}

// writeManifest writes the manifest of all records, unless it is up to date, and calls fn for each of them.
func (s state) writeManifest(h *header, fn func(*Record)) error {
	all, err := s.openRecords()
	if err != nil {
		return err
	}
	defer all.close()
	if all.fresh && all.header != nil && all.header.OptionsID == h.OptionsID && all.headerWritten(h.OptionsID) {
		return all.each(func(record *Record) error { fn(record); return nil })
	}
	temp := s.path(manifestName + ".tmp")
	f, err := os.Create(temp)
	if err != nil {
		return err
	}
	defer os.Remove(temp)
	defer f.Close()
	if err := all.write(f, h.Options, fn); err != nil {
		return err
	}
	if err := errors.Join(f.Sync(), f.Close()); err != nil {
		return err
	}
	all.close() // Windows does not replace open files
	if err := os.Rename(temp, s.path(manifestName)); err != nil {
		return err
	}
	return errors.Join(s.removeParts(all.ends), s.writeMerged(all.ends, all.header))
}

// removeParts removes the parts that are in the manifest, and their entries in ends.
func (s state) removeParts(ends map[string]int64) (err error) {
	for name := range ends {
		if isPart(name) {
			err = errors.Join(err, os.Remove(s.path(name)))
			delete(ends, name)
		}
	}
	return err
}

// headerWritten reports whether the manifest itself starts with the header for these options.
func (r *records) headerWritten(id string) bool {
	line, err := bufio.NewReader(io.NewSectionReader(r.manifest, 0, maxLine)).ReadBytes('\n')
	if err != nil {
		return false
	}
	h, _, err := parseLine(bytes.TrimSpace(line))
	return err == nil && h != nil && h.OptionsID == id
}

// each calls fn for each remaining record.
func (r *records) each(fn func(*Record) error) error {
	for {
		record, err := r.read()
		if record == nil || err != nil {
			return err
		}
		if err := fn(record); err != nil {
			return err
		}
	}
}

// writeMerged records how much of the journals is in the manifest. Without that the next run reads them completely.
func (s state) writeMerged(ends map[string]int64, latest *header) error {
	info, err := os.Stat(s.path(manifestName))
	if err != nil {
		return err
	}
	text, err := json.Marshal(merged{info.Size(), info.ModTime().UnixNano(), ends, latest})
	if err != nil {
		return err
	}
	temp := s.path(mergedName + ".tmp")
	if err := os.WriteFile(temp, text, 0o666); err != nil {
		return err
	}
	return os.Rename(temp, s.path(mergedName))
}
