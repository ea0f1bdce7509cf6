package timeline

import (
	"bufio"

	"github.com/weft-trace/weft/internal/extsort"
)

// recordFile is a temporary file of records, written once from start to end.
type recordFile struct {
	file  *extsort.File
	count int
}

// recordForm is the encoding of records on disk.
var recordForm = extsort.FormOf[record]()

const (
	// maxRecordBuffer and minRecordBuffer limit the buffer size of a record reader.
	maxRecordBuffer = 128 << 10
	minRecordBuffer = 4 << 10
)

func newRecordFile(dir string) (*recordFile, error) {
	f, err := extsort.NewFile(dir)
	if err != nil {
		return nil, err
	}
	return &recordFile{file: f}, nil
}

// add appends a record.
func (f *recordFile) add(r *record) error {
	f.count++
	_, err := f.file.Write(recordForm.Bytes(r))
	return err
}

// reader returns count records starting at index first. The buffer size is memory, within the limits minRecordBuffer and
// maxRecordBuffer. It requires flush. Several readers can be used at once.
func (f *recordFile) reader(first, count int, memory int64) extsort.Sequence[record] {
	section := f.file.Section(int64(first)*recordSize, int64(count)*recordSize)
	return extsort.Values[record](bufio.NewReaderSize(section, int(min(max(memory, minRecordBuffer), maxRecordBuffer))))
}

func (f *recordFile) flush() error { return f.file.Flush() }
func (f *recordFile) close() error { return f.file.Close() }
