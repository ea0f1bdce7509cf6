// Package weftio converts archives of traces in pipelines of Apache Beam: on one machine with the runner prism, and on the engine that a
// cluster has. What is a trace, how outputs are called, what is done again and what is recorded are those of weft migrate;
// docs/batch.md describes them. The folder of outputs and the manifest of one are those of the other.
//
// Inputs and outputs are local files, and objects of gs:// and s3:// (import Beam's file systems for them). A file is never split: a
// worker needs the memory of one file, Options.FileMemory, for each of its cores, and 200 MiB.
//
// The failure of a file is an element, never an error of the pipeline. What concerns the place, a full disk or a bucket that is not there,
// fails the bundle, which the runner may try again.
package weftio
