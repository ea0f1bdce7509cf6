// Package weftio converts trace archives in Apache Beam pipelines: on one machine with the Prism runner, or on the engine of a
// cluster. It follows weft migrate in deciding which files are traces, how to name outputs, what to redo and what to record; see
// docs/batch.md. Either can continue the output folder and manifest of the other.
//
// Inputs and outputs are local files or objects in gs:// and s3:// (import Beam's file systems for them). A file is never split:
// a worker needs the memory of one file, Options.FileMemory, for each of its cores, plus 200 MiB.
//
// A file that fails becomes an element and never fails the pipeline. Storage errors, such as a full disk or a missing bucket,
// fail the bundle, which the runner may retry.
package weftio
