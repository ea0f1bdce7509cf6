// Package perfetto contains messages of Perfetto's schema as another program might generate them, with the same names
// as weft's package gen. A program with both copies panics at startup, so the tests in this module show that no weft
// package links its own copy.
package perfetto
