// Package perfetto contains messages of Perfetto's schema as another program may generate them, with the names that
// weft's package gen uses. A program with both copies panics at start, so the tests of this module show that no package
// of weft links its own.
package perfetto
