package main

import (
	_ "embed"

	"github.com/urfave/cli/v2"
)

// The schema of event streams as text and as a FileDescriptorSet, copied from proto/weft by make generate.
var (
	//go:embed schema/event.proto
	schemaText []byte
	//go:embed schema/event.binpb
	schemaDescriptors []byte
)

func schemaCommand(env *environment) *cli.Command {
	return &cli.Command{
		Name:      "schema",
		Usage:     "print the schema of exported events",
		UsageText: "weft schema --proto|--descriptors",
		Description: `Prints the schema of the streams of weft export --as proto, whose field names are
of its other forms with events as well: as text for a code generator, or as
a FileDescriptorSet for languages that need none.

Examples:
   weft schema --proto > event.proto
   weft schema --descriptors > event.binpb`,
		Flags: []cli.Flag{
			&cli.BoolFlag{Name: "proto", Usage: "print the .proto file", DisableDefaultText: true},
			&cli.BoolFlag{Name: "descriptors", Usage: "print a google.protobuf.FileDescriptorSet", DisableDefaultText: true},
		},
		Action: func(c *cli.Context) error {
			text, binary := c.Bool("proto"), c.Bool("descriptors")
			switch {
			case c.NArg() > 0:
				return usagef("schema takes no files")
			case text == binary:
				return usagef("use either --proto or --descriptors")
			case binary && env.isTerminal(env.stdout):
				return usagef("weft does not write descriptors to a terminal; use a pipe or > FILE")
			case binary:
				return writeAll(env.stdout, schemaDescriptors)
			}
			return writeAll(env.stdout, schemaText)
		},
	}
}
