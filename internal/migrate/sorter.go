package migrate

import (
	"bufio"
	"cmp"
	"encoding/binary"
	"errors"
	"io"
	"slices"
	"strings"

	"github.com/weft-trace/weft/internal/extsort"
)

// sorterMemory is how many bytes a sorter keeps in memory before it writes a run to disk.
const sorterMemory = 8 << 20

// maxLine bounds a line in a journal or manifest, and a name in a list.
const maxLine = 1 << 20

// An item is a line to be sorted by its input, and then by time.
type item struct {
	input, member, at string
	line              []byte
	record            *Record // the decoded line, if it was parsed
}

func compareItems(a, b *item) int {
	return cmp.Or(comparePaths(a.input, b.input), comparePaths(a.member, b.member), strings.Compare(a.at, b.at))
}

// A sorter sorts items in bounded memory. Equal items stay in the order in which they were added.
type sorter struct {
	held []item
	size int // bytes of held
	file *extsort.File
	runs [][2]int64 // start and end in file
	buf  []byte
	n    int64
}

// itemOverhead is the memory of an item without its texts, in bytes.
const itemOverhead = 80

func (s *sorter) add(it item) error {
	s.held = append(s.held, it)
	s.n++
	s.size += itemOverhead + len(it.input) + len(it.member) + len(it.at) + len(it.line)
	if s.size < sorterMemory {
		return nil
	}
	return s.spill()
}

func (s *sorter) sort() {
	slices.SortStableFunc(s.held, func(a, b item) int { return compareItems(&a, &b) })
}

func (s *sorter) spill() error {
	s.sort()
	if s.file == nil {
		f, err := extsort.NewFile("")
		if err != nil {
			return err
		}
		s.file = f
	}
	start := s.file.Size()
	for i := range s.held {
		it := &s.held[i]
		s.buf = s.buf[:0]
		for _, text := range []string{it.input, it.member, it.at, string(it.line)} {
			s.buf = binary.AppendUvarint(s.buf, uint64(len(text)))
			s.buf = append(s.buf, text...)
		}
		if _, err := s.file.Write(s.buf); err != nil {
			return err
		}
	}
	s.runs = append(s.runs, [2]int64{start, s.file.Size()})
	clear(s.held)
	s.held, s.size = s.held[:0], 0
	return nil
}

// sequences returns the sorted runs, earliest first.
func (s *sorter) sequences() (all []extsort.Sequence[item], err error) {
	if s.file != nil {
		if len(s.held) > 0 {
			if err := s.spill(); err != nil {
				return nil, err
			}
		}
		s.held = nil
		if err := s.file.Flush(); err != nil {
			return nil, err
		}
		for _, run := range s.runs {
			r := bufio.NewReaderSize(s.file.Section(run[0], run[1]-run[0]), 64<<10)
			all = append(all, func(it *item) (bool, error) { return readItem(r, it) })
		}
		return all, nil
	}
	s.sort()
	i := 0
	return append(all, func(it *item) (bool, error) {
		if i == len(s.held) {
			return false, nil
		}
		*it = s.held[i]
		i++
		return true, nil
	}), nil
}

func readItem(r *bufio.Reader, it *item) (bool, error) {
	if _, err := r.Peek(1); err == io.EOF {
		return false, nil
	}
	var texts [4][]byte
	for i := range texts {
		n, err := binary.ReadUvarint(r)
		if err != nil || n > maxLine {
			return false, errors.Join(err, errors.New("a temporary file is damaged"))
		}
		texts[i] = make([]byte, n)
		if _, err := io.ReadFull(r, texts[i]); err != nil {
			return false, err
		}
	}
	*it = item{input: string(texts[0]), member: string(texts[1]), at: string(texts[2]), line: texts[3]}
	return true, nil
}

func (s *sorter) close() {
	if s.file != nil {
		s.file.Close()
	}
	*s = sorter{}
}
