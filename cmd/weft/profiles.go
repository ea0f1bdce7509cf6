package main

import (
	"github.com/urfave/cli/v2"

	"github.com/weft-trace/weft/convert"
)

// profileFlags returns the flags that control the conversion of CPU profiles.
func profileFlags() []cli.Flag {
	return []cli.Flag{
		&cli.StringFlag{Name: "js-calls", Value: "refined", Usage: "make calls from JavaScript samples as `KIND`: refined, devtools or off"},
		&cli.StringFlag{Name: "profile", Usage: "show the V8 profile `ID` of a thread, or all; weft info --details lists them", DefaultText: "as DevTools"},
	}
}

// callDetailsFlag returns the flag that keeps all details of calls in the output.
func callDetailsFlag() cli.Flag {
	return &cli.BoolFlag{Name: "details", Usage: "keep ids of nodes, scripts, profiles and samples in the arguments of calls made from V8's samples", DisableDefaultText: true}
}

// setProfiles reads profileFlags and callDetailsFlag. Flags that a command lacks have their defaults.
func setProfiles(c *cli.Context, opts *convert.Options) error {
	opts.JSCalls = convert.JSCalls(c.String("js-calls"))
	if err := opts.Validate(); err != nil {
		return usagef("--js-calls: %v", err)
	}
	opts.CallDetails = c.Bool("details")
	if opts.Profile = c.String("profile"); opts.Profile == "" && c.IsSet("profile") {
		return usagef("--profile: the id is empty; weft info --details lists them")
	}
	return nil
}
