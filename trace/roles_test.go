package trace

import (
	"testing"

	"github.com/weft-trace/weft/internal/timeline"
)

// Every role of the timeline has a role in the public model, except for tracks that are only in files.
func TestRoles(t *testing.T) {
	for n := uint64(1); timeline.IsRole(n); n++ {
		role := timeline.Role(n)
		if _, ok := roles[role]; ok == (role == timeline.RoleDetails || role == timeline.RoleGroup) {
			t.Errorf("role %d (%v): public %v", n, role, ok)
		}
	}
}
