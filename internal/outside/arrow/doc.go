// Package arrow holds a test that reads the Parquet files of weft export with Apache Arrow, an implementation that has nothing in
// common with the one that writes them. It is a module of its own, so that weft does not depend on Arrow.
package arrow
