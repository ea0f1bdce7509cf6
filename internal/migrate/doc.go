// Package migrate converts whole archives of traces: folders, lists of files, and members of tar and zip archives. It
// implements the command weft migrate.
//
// A run walks its inputs in path order, side by side with the records of earlier runs in the same order, and decides what to
// do with each. It appends each result to a journal, one line per file, before the output gets its name; however a run ended,
// the next one continues where it stopped. docs/batch.md describes the rules for users.
//
// What does not live here: conversion itself (package convert), flags and printing (cmd/weft).
package migrate
