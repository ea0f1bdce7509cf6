package main

import (
	"errors"
	"fmt"

	"github.com/urfave/cli/v2"

	"github.com/weft-trace/weft/convert"
	"github.com/weft-trace/weft/internal/commandline"
	"github.com/weft-trace/weft/internal/problem"
)

// strictness selects the losses that count as a failure: none; unusual ones (--strict); or all of them (--strict=all).
type strictness string

const (
	strictUnusual strictness = "unusual"
	strictAll     strictness = "all"
)

// Set implements cli.Generic.
func (s *strictness) Set(text string) error {
	switch text {
	case "true", string(strictUnusual):
		*s = strictUnusual
	case string(strictAll):
		*s = strictAll
	case "false":
		*s = ""
	default:
		return errors.New("not unusual or all")
	}
	return nil
}

// String implements cli.Generic.
func (s *strictness) String() string { return string(*s) }

// IsBoolFlag tells package flag that the value is optional.
func (*strictness) IsBoolFlag() bool { return true }

// strictFlag returns the --strict flag, with an optional prefix to its usage.
func strictFlag(besides string) cli.Flag {
	return &commandline.OptionalFlag{Values: []string{string(strictUnusual), string(strictAll)}, GenericFlag: cli.GenericFlag{Name: "strict", Value: new(strictness), DefaultText: "off",
		Usage: besides + "exit with code 3 if data is lost that most recordings in the format do not lack, or with `=all` if any is lost"}}
}

func readStrict(c *cli.Context) strictness { return *c.Generic("strict").(*strictness) }

// losses counts input data that is missing from the output: in total, and excluding losses that are usual for the format.
type losses struct{ all, unusual uint64 }

func lossesOf(r *convert.Report) losses {
	l := losses{all: r.Lost()}
	for _, p := range unusual(r) {
		if r.IsLost(&p) {
			l.unusual = problem.Sum(l.unusual, p.Count)
		}
	}
	return l
}

// allows reports whether the command succeeds despite losses.
func (s strictness) allows(l losses) bool {
	return s == "" || l.unusual == 0 && (s == strictUnusual || l.all == 0)
}

// judge returns errStrict if losses are a failure. In that case, it also prints where they are listed.
func (s strictness) judge(env *environment, l losses, where string) error {
	if s.allows(l) {
		return nil
	}
	flag := "--strict"
	if s == strictAll {
		flag += "=all"
	}
	fmt.Fprintf(env.stderr, "weft: data was lost (%s)%s\n", flag, where)
	return errStrict
}
