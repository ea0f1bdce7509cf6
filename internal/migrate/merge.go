package migrate

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"iter"
)

// OptionsID returns the identifier that records use for a set of options that affect the output bytes.
func OptionsID(settings map[string]string) string { return optionsID(settings) }

// Records yields the latest record of each input in the output folder, in input order. Memory use does not grow with the
// number of records. The iteration stops at the first error.
func Records(out string) iter.Seq2[*Record, error] {
	return func(yield func(*Record, error) bool) {
		all, err := stateOf(out).openRecords()
		if err != nil {
			yield(nil, err)
			return
		}
		defer all.close()
		for {
			record, err := all.read()
			if record == nil && err == nil || !yield(record, err) || err != nil {
				return
			}
		}
	}
}

// Merge writes a manifest of the records in parts: files with one record per line, in any order, such as independent workers
// write. Of several records of an input, the one with the latest At counts. Headers of parts and an incomplete last line are
// skipped. The same records yield the same bytes.
func Merge(dst io.Writer, settings map[string]string, parts ...io.ReaderAt) error {
	all := new(records)
	defer all.close()
	for i, part := range parts {
		_, err := eachLine(part, 0, func(line []byte, at int64) error {
			_, r, err := parseLine(line)
			if err != nil {
				return fmt.Errorf("part %d, byte %d: %w", i, at, err)
			}
			if r == nil {
				return nil
			}
			return all.sorter.add(item{input: r.Input, member: r.Member, at: r.At, line: bytes.Clone(line)})
		})
		if err != nil {
			return err
		}
	}
	sorted, err := all.sorter.sequences()
	if err != nil {
		return err
	}
	if all.merger, err = newMerger(sorted); err != nil {
		return err
	}
	return all.write(dst, settings, func(*Record) {})
}

// write writes the remaining records as a manifest, and calls fn for each of them.
func (r *records) write(dst io.Writer, settings map[string]string, fn func(*Record)) error {
	if settings == nil {
		settings = map[string]string{}
	}
	w := bufio.NewWriterSize(dst, 256<<10)
	line, err := appendLine(nil, &header{Version: formatVersion, Options: settings, OptionsID: optionsID(settings)})
	if err != nil {
		return err
	}
	if _, err := w.Write(line); err != nil {
		return err
	}
	err = r.each(func(record *Record) error {
		fn(record)
		record.journalPart = journalPart{}
		if line, err = appendLine(line[:0], record); err != nil {
			return err
		}
		_, err = w.Write(line)
		return err
	})
	if err != nil {
		return err
	}
	return w.Flush()
}
