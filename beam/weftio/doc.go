// Package weftio converts archives of traces in pipelines of Apache Beam: on one machine with the runner prism, and on the engine that a
// cluster has. It follows weft migrate in what is a trace, how outputs are named, what is done again and what is recorded;
// docs/batch.md describes that. Either can continue the other's folder of outputs and its manifest.
//
// Inputs and outputs are local files, and objects of gs:// and s3:// (import Beam's file systems for them). A file is never split: a
// worker needs the memory of one file, Options.FileMemory, for each of its cores, and 200 MiB.
//
// The failure of a file is an element, never an error of the pipeline. Errors of the storage, such as a full disk or a missing bucket,
// fail the bundle, which the runner may retry.
package weftio
