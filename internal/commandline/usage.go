// Package commandline parses the command line of a program with the commands of package cli, and generates help, shell
// completions and the manual page from the same list of commands and flags. Flags may come before or after arguments.
//
// What does not live here: the commands and the meaning of their flags (cmd/weft).
package commandline

import (
	"fmt"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/weft-trace/weft/internal/words"
)

// UsageError is an error on the command line.
type UsageError struct{ Message string }

// Error implements error.
func (e *UsageError) Error() string { return e.Message }

// Usagef returns a UsageError.
func Usagef(format string, args ...any) error { return &UsageError{fmt.Sprintf(format, args...)} }

// UnknownValue returns the UsageError for an invalid value of a flag. The parameter what is the noun for a value.
func UnknownValue(flag, what, value string, values ...string) error {
	return Usagef("--%s: %v", flag, words.Unknown(what, value, values))
}

// Exclusive returns a UsageError if more than one of the flags is set.
func Exclusive(c *cli.Context, flags ...string) error {
	var all []string
	set := 0
	for _, name := range flags {
		all = append(all, dashed(name))
		if c.IsSet(name) {
			set++
		}
	}
	if set < 2 {
		return nil
	}
	last := len(all) - 1
	return Usagef("%s and %s cannot be combined", strings.Join(all[:last], ", "), all[last])
}

// An OptionalFlag is a flag with an optional value: --strict or --strict=all.
type OptionalFlag struct {
	cli.GenericFlag
	Values []string // the possible values
}

// TakesValue returns false, because the next word is never the value.
func (*OptionalFlag) TakesValue() bool { return false }

// A ListFlag is a flag whose values are all the words up to the next flag.
type ListFlag struct{ cli.StringSliceFlag }

// dashed returns the name of a flag with its dashes.
func dashed(name string) string {
	if len(name) == 1 {
		return "-" + name
	}
	return "--" + name
}
