package tracer

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"slices"
)

// maxNotes limits the size of a program's notes about probes. A note has about 80 bytes.
const maxNotes = 64 << 20

// ErrNoProgram is wrapped in errors for files without ELF machine code, such as scripts.
var ErrNoProgram = errors.New("not an ELF program")

// StaticProbes returns the static probes of a program or library as provider:name, sorted and without duplicates. Names are as in
// the program: layout__start.
func StaticProbes(path string) ([]string, error) {
	f, err := elf.Open(path)
	var format *elf.FormatError
	switch {
	case errors.As(err, &format), errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return nil, ErrNoProgram
	case err != nil:
		return nil, err
	}
	defer f.Close()
	section := f.Section(".note.stapsdt")
	if section == nil {
		return nil, nil
	}
	if section.Size > maxNotes {
		return nil, fmt.Errorf("its probe notes have %d bytes; the limit is %d", section.Size, maxNotes)
	}
	notes, err := section.Data()
	if err != nil {
		return nil, err
	}
	address := 4
	if f.Class == elf.ELFCLASS64 {
		address = 8
	}
	probes := probesOfNotes(notes, f.ByteOrder, address)
	slices.Sort(probes)
	return slices.Compact(probes), nil
}

// probesOfNotes reads the notes made by <sys/sdt.h>, which consist of three addresses and three NUL-terminated texts: provider,
// name and arguments. It stops at an invalid note.
func probesOfNotes(notes []byte, order binary.ByteOrder, address int) (probes []string) {
	const header, sdt = 12, 3 // the type of these notes
	align := func(n uint32) int64 { return (int64(n) + 3) &^ 3 }
	for len(notes) >= header {
		size, kind := order.Uint32(notes[4:]), order.Uint32(notes[8:])
		name, desc := align(order.Uint32(notes)), align(size)
		notes = notes[header:]
		if name+desc > int64(len(notes)) {
			break
		}
		owner := bytes.TrimRight(notes[:name], "\x00")
		texts := notes[name : name+int64(size)]
		notes = notes[name+desc:]
		if kind != sdt || string(owner) != "stapsdt" || len(texts) < 3*address {
			continue
		}
		provider, rest, ok := bytes.Cut(texts[3*address:], []byte{0})
		probe, _, ok2 := bytes.Cut(rest, []byte{0})
		if ok && ok2 {
			probes = append(probes, string(provider)+":"+string(probe))
		}
	}
	return probes
}
