package extsort

import (
	"fmt"
	"io"
	"reflect"
	"unsafe"
)

// form is the representation of values in temporary files: a copy of their memory. Only the process that wrote the files reads
// them, so byte order and padding do not matter. Other packages obtain a form from FormOf.
type form[T any] struct{}

// FormOf returns the form for values of type T. It panics if T contains pointers: call it for a package-level variable, so that a
// program with such a type fails at startup.
func FormOf[T any]() form[T] {
	checkType[T]()
	return form[T]{}
}

// Bytes returns the memory of a value as bytes, without copying.
func (form[T]) Bytes(v *T) []byte { return bytesOf(v) }

// Read reads a value. At the end, its error wraps io.EOF.
func (form[T]) Read(r io.Reader, v *T) error { return read(r, v) }

// bytesOf returns the memory of a value of a checked type.
func bytesOf[T any](v *T) []byte { return unsafe.Slice((*byte)(unsafe.Pointer(v)), unsafe.Sizeof(*v)) }

// read reads a value of a checked type.
func read[T any](r io.Reader, v *T) error {
	if _, err := io.ReadFull(r, bytesOf(v)); err != nil {
		return fmt.Errorf("reading a temporary file: %w", err)
	}
	return nil
}

// sizeOf returns the size of a value.
func sizeOf[T any]() int {
	var v T
	return int(unsafe.Sizeof(v))
}

// checkType panics if T contains pointers, which would be invalid after being read from a file.
func checkType[T any]() {
	if t := reflect.TypeFor[T](); hasPointers(t) {
		panic(fmt.Sprintf("extsort: %v has pointers", t))
	}
}

// hasPointers reports whether values of a type can refer to other memory.
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
