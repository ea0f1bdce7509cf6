// Package migrate converts whole archives of traces: folders, lists of files, and members of tar and zip archives. It is what the
// command weft migrate runs.
//
// A run walks its inputs in the order of their paths, beside the records of earlier runs in the same order, and decides for each
// what is to be done. What it did is appended to a journal, one line a file, before the output gets its name; a run that ended in
// any way goes on where it stopped. docs/batch.md describes the rules for users.
//
// What does not live here: conversion itself (package convert), flags and printing (cmd/weft).
package migrate
