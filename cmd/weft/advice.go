package main

import (
	"errors"
	"strings"

	"github.com/weft-trace/weft/internal/jsondoc"
	"github.com/weft-trace/weft/internal/readers/jsprofile"
	"github.com/weft-trace/weft/internal/v8profile"
)

// advised returns the text of an error, and behind what the library says the flags and commands that help.
func advised(err error) string {
	text := err.Error()
	advise := func(about error, advice string) {
		text = strings.Replace(text, about.Error(), about.Error()+advice, 1)
	}
	if full := (*jsondoc.NoRoomError)(nil); errors.As(err, &full) {
		advice := "; allow more with --memory"
		if trace := (*v8profile.AssemblyError)(nil); errors.As(err, &trace) {
			advice += "; --js-calls off and --samples none leave them out"
		}
		advise(full, advice)
	}
	if clock := (*jsprofile.ClockError)(nil); errors.As(err, &clock) {
		advice := "; --time-origin can say where it belongs"
		if clock.Places > 0 {
			advice = "; --time-origin can say which"
		}
		advise(clock, advice)
	}
	if errors.Is(err, jsprofile.ErrNoSamples) {
		advise(jsprofile.ErrNoSamples, ": join the recording itself, or what --profile all makes of it")
	}
	if unknown := (*v8profile.NotFoundError)(nil); errors.As(err, &unknown) && len(unknown.Has) > 0 {
		advise(unknown, " (weft info lists them with their threads)")
	}
	if errors.Is(err, jsprofile.ErrListsMissing) {
		text = strings.Replace(text, "the format has to be named", "--from jsprofile reads them", 1)
	}
	return text
}
