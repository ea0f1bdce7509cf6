package extsort

import (
	"fmt"
	"io"
	"reflect"
	"unsafe"
)

// Bytes returns the memory of a value without pointers. It is the form of values in temporary files, which nothing but the
// process that wrote them reads: so the order of bytes, and what is between the fields, do not matter.
// Sorters and Mergers check their types; others have to see to it themselves.
func Bytes[T any](v *T) []byte { return unsafe.Slice((*byte)(unsafe.Pointer(v)), unsafe.Sizeof(*v)) }

// Read reads a value in this form. The error wraps io.EOF if there is nothing more.
func Read[T any](r io.Reader, v *T) error {
	if _, err := io.ReadFull(r, Bytes(v)); err != nil {
		return fmt.Errorf("reading a temporary file: %w", err)
	}
	return nil
}

// sizeOf returns the size of a value.
func sizeOf[T any]() int {
	var v T
	return int(unsafe.Sizeof(v))
}

// checkType panics if T has pointers: read from a file, they would lead anywhere.
func checkType[T any]() {
	if t := reflect.TypeFor[T](); hasPointers(t) {
		panic(fmt.Sprintf("extsort: %v has pointers", t))
	}
}

// hasPointers reports whether values of a type refer to other memory.
func hasPointers(t reflect.Type) bool {
	switch t.Kind() {
	case reflect.Array:
		return hasPointers(t.Elem())
	case reflect.Struct:
		for i := range t.NumField() {
			if hasPointers(t.Field(i).Type) {
				return true
			}
		}
		return false
	}
	return t.Kind() < reflect.Bool || t.Kind() > reflect.Complex128 || t.Kind() == reflect.Uintptr
}
