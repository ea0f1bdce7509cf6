// Package arrow tests the Parquet files of weft export with Apache Arrow, an independent implementation. It is a
// separate module, so that weft does not depend on Arrow.
package arrow
