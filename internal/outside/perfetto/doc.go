// Package perfetto holds messages of Perfetto's schema as another program may have generated them for itself, with the names
// that those of weft's package gen have. A program with both copies panics at start, so the tests of this module show that no
// package of weft brings its own.
package perfetto
