package tracer

import (
	"bytes"
	"encoding/binary"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// note returns a note in the form of <sys/sdt.h>.
func note(order binary.AppendByteOrder, address int, kind uint32, owner string, texts string) []byte {
	desc := append(make([]byte, 3*address), texts...)
	b := order.AppendUint32(nil, uint32(len(owner)))
	b = order.AppendUint32(b, uint32(len(desc)))
	b = order.AppendUint32(b, kind)
	b = append(b, owner...)
	for len(b)%4 != 0 {
		b = append(b, 0)
	}
	b = append(b, desc...)
	for len(b)%4 != 0 {
		b = append(b, 0)
	}
	return b
}

func TestProbesOfNotes(t *testing.T) {
	type byteOrder interface {
		binary.ByteOrder
		binary.AppendByteOrder
	}
	for _, order := range []byteOrder{binary.LittleEndian, binary.BigEndian} {
		for _, address := range []int{4, 8} {
			notes := bytes.Join([][]byte{
				note(order, address, 3, "stapsdt\x00", "p\x00layout__start\x008@%rdi -4@%esi\x00"),
				note(order, address, 3, "other\x00", "p\x00x\x00\x00"),
				note(order, address, 4, "stapsdt\x00", "p\x00y\x00\x00"),
				note(order, address, 3, "stapsdt\x00", "no end"),
				note(order, address, 3, "stapsdt\x00", "p\x00b\x00\x00"),
			}, nil)
			want := []string{"p:layout__start", "p:b"}
			if got := probesOfNotes(notes, order, address); !slices.Equal(got, want) {
				t.Errorf("%v, addresses of %d bytes: %q; want %q", order, address, got, want)
			}
			for n := range notes { // truncated anywhere: only complete notes, and no panic
				if got := probesOfNotes(notes[:n], order, address); len(got) > 2 || !slices.Equal(got, want[:len(got)]) {
					t.Fatalf("truncated at %d: %q", n, got)
				}
			}
		}
	}
	huge := append(bytes.Repeat([]byte{0xff}, 12), make([]byte, 100)...)
	if got := probesOfNotes(huge, binary.LittleEndian, 8); got != nil {
		t.Errorf("a note of 4 GB: %q", got)
	}
}

func TestStaticProbes(t *testing.T) {
	script := filepath.Join(t.TempDir(), "script")
	if err := os.WriteFile(script, []byte("#!/bin/sh\n"), 0o777); err != nil {
		t.Fatal(err)
	}
	if _, err := StaticProbes(script); !errors.Is(err, ErrNoProgram) {
		t.Errorf("a script: %v", err)
	}
	if err := os.WriteFile(script, nil, 0o777); err != nil {
		t.Fatal(err)
	}
	if _, err := StaticProbes(script); !errors.Is(err, ErrNoProgram) {
		t.Errorf("an empty file: %v", err)
	}
	if _, err := StaticProbes(script + ".none"); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("no file: %v", err)
	}
}
