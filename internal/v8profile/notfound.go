package v8profile

import (
	"fmt"
	"strings"
)

// NotFoundError reports that a trace does not contain the requested profile.
type NotFoundError struct {
	ID  string
	Has []string // the ids in the trace
}

// maxListed is the number of profiles that a message names.
const maxListed = 20

func (e *NotFoundError) Error() string {
	list := strings.Join(e.Has[:min(len(e.Has), maxListed)], ", ")
	switch {
	case len(e.Has) == 0:
		list = "none"
	case len(e.Has) > maxListed:
		list += ", …"
	}
	return fmt.Sprintf("there is no V8 profile %s; the trace has %s", e.ID, list)
}

// Hint names the command that lists profiles.
func (e *NotFoundError) Hint() string {
	if len(e.Has) == 0 {
		return ""
	}
	return " (weft info --details lists them with their threads)"
}
