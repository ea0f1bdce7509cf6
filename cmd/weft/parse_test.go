package main

import (
	"errors"
	"strings"
	"testing"

	"github.com/weft-trace/weft/internal/commandline"
)

func TestParse(t *testing.T) {
	tests := []struct{ name, args, want string }{
		{"nothing", "weft", "weft"},
		{"app_flag", "weft --version", "version"},
		{"app_flag_and_command", "weft --help convert a", "help of weft"},
		{"unknown_command", "weft guess a --b", "weft guess a --b"},
		{"flags_first", "weft convert --force a", "weft convert --force -- a"},
		{"flags_last", "weft convert a b --force -o c", "weft convert --force -o c -- a b"},
		{"flags_between", "weft convert a --args x,y b --strict", "weft convert --args x,y --strict -- a b"},
		{"one_dash", "weft convert a -force", "weft convert -force -- a"},
		{"value_with_equals", "weft convert a --args=none b", "weft convert --args=none -- a b"},
		{"standard_input_and_output", "weft convert - -o -", "weft convert -o - -- -"},
		{"value_like_a_flag", "weft convert a -o --force", "weft convert -o --force -- a"},
		{"after_two_dashes", "weft convert a --force -- --strict -o", "weft convert --force -- a --strict -o"},
		{"help_last", "weft convert a --help", "help of convert"},
		{"help_of_a_report", "weft report cost -h", "help of report"},
		{"help_as_a_value", "weft convert a -o --help", "weft convert -o --help -- a"},
		{"subcommand", "weft probes scripts mozilla --tracer bpftrace", "weft probes scripts --tracer bpftrace -- mozilla"},
		{"help_of_a_subcommand", "weft probes record -c x --help", "help of record"},
		{"unknown_subcommand", "weft probes guess --help", "help of probes"},
		{"help_after_two_dashes", "weft convert -- --help", "weft convert -- --help"},
	}
	app := newApp(&environment{})
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			call, err := commandline.Parse(app, strings.Fields(test.args), goneFlags)
			if err != nil {
				t.Fatal(err)
			}
			got := strings.Join(call.Args, " ")
			switch {
			case call.Version:
				got = "version"
			case call.Help && call.Command == nil:
				got = "help of weft"
			case call.Help:
				got = "help of " + call.Command.Name
			}
			if got != test.want {
				t.Errorf("%q is %q; want %q", test.args, got, test.want)
			}
		})
	}
}

func TestParseMistakes(t *testing.T) {
	for args, want := range map[string]string{
		"weft convert a -o":           "flag -o needs a value",
		"weft convert a --nonsense b": "unknown flag --nonsense",
		"weft convert --nonsense=b":   "unknown flag --nonsense",
		"weft --force convert a":      "flag --force belongs after the command: weft convert … --force",
	} {
		_, err := commandline.Parse(newApp(&environment{}), strings.Fields(args), goneFlags)
		var usage *usageError
		if !errors.As(err, &usage) || err.Error() != want {
			t.Errorf("%q: %v; want %q", args, err, want)
		}
	}
}
