package weftio

import (
	"encoding/json"
	"reflect"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"

	"github.com/weft-trace/weft/internal/migrate"
)

// Converted is the manifest's record of a trace that has an output.
type Converted struct{ migrate.Record }

// Failure is the record of a file that could not be converted. Kind is a stable identifier, and Reason is a sentence.
type Failure struct{ migrate.Record }

// Summary is the summary of a manifest.
type Summary struct{ migrate.Summary }

// A work is a task for one input: the known facts about the input, and how to process it.
type work struct{ migrate.Task }

// A batch is a group of tasks that are processed concurrently.
type batch struct{ Works []work }

// A line is a record from an earlier job.
type line struct{ migrate.Record }

func init() {
	// Beam's own coders round times and omit unexported fields; JSON keeps records as they are in the manifest.
	beam.RegisterCoder(reflect.TypeFor[Converted](), encodeConverted, decodeConverted)
	beam.RegisterCoder(reflect.TypeFor[Failure](), encodeFailure, decodeFailure)
	beam.RegisterCoder(reflect.TypeFor[Summary](), encodeSummary, decodeSummary)
	beam.RegisterCoder(reflect.TypeFor[work](), encodeWork, decodeWork)
	beam.RegisterCoder(reflect.TypeFor[batch](), encodeBatch, decodeBatch)
	beam.RegisterCoder(reflect.TypeFor[line](), encodeLine, decodeLine)
}

func encodeConverted(v Converted) ([]byte, error) { return json.Marshal(&v) }
func encodeFailure(v Failure) ([]byte, error)     { return json.Marshal(&v) }
func encodeSummary(v Summary) ([]byte, error)     { return json.Marshal(&v) }
func encodeWork(v work) ([]byte, error)           { return json.Marshal(&v) }
func encodeBatch(v batch) ([]byte, error)         { return json.Marshal(&v) }
func encodeLine(v line) ([]byte, error)           { return json.Marshal(&v) }

func decodeConverted(b []byte) (v Converted, err error) {
	err = json.Unmarshal(b, &v)
	return v, err
}

func decodeFailure(b []byte) (v Failure, err error) {
	err = json.Unmarshal(b, &v)
	return v, err
}

func decodeSummary(b []byte) (v Summary, err error) {
	err = json.Unmarshal(b, &v)
	return v, err
}

func decodeWork(b []byte) (v work, err error) {
	err = json.Unmarshal(b, &v)
	return v, err
}

func decodeBatch(b []byte) (v batch, err error) {
	err = json.Unmarshal(b, &v)
	return v, err
}

func decodeLine(b []byte) (v line, err error) {
	err = json.Unmarshal(b, &v)
	return v, err
}
