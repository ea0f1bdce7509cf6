package message

import (
	"github.com/weft-trace/weft/internal/schema"
	"github.com/weft-trace/weft/internal/wire"
)

// PlainSample is a StackSample in the form in which weft writes most of them.
type PlainSample struct {
	Task         []byte // a TaskContext
	CallstackIID uint64 // 0: none
	Weight       uint64
}

// Parse decodes msg. It returns false if that has no task or no weight, or anything else: then it is for StackSample.
func (s *PlainSample) Parse(msg []byte) bool {
	*s = PlainSample{}
	weighed := false
	r := wire.NewReader(msg)
	for r.Next() {
		switch r.Tag() {
		case schema.StackSample_TaskContext<<3 | wire.Len:
			s.Task = r.Bytes()
		case schema.StackSample_CallstackIID<<3 | wire.Varint:
			s.CallstackIID = r.Uint()
		case schema.StackSample_PrimaryWeight<<3 | wire.Varint:
			s.Weight, weighed = r.Uint(), true
		default:
			return false
		}
	}
	return r.Err() == nil && weighed && s.Task != nil
}
