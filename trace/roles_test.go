package trace

import (
	"testing"

	"github.com/weft-trace/weft/internal/timeline"
)

// Every role in the timeline has a counterpart in the public model, except the roles of tracks that exist only in files.
func TestRoles(t *testing.T) {
	for n := uint64(1); timeline.IsRole(n); n++ {
		role := timeline.Role(n)
		if _, ok := roles[role]; ok == (role == timeline.RoleDetails || role == timeline.RoleGroup) {
			t.Errorf("role %d (%v): public %v", n, role, ok)
		}
	}
}
