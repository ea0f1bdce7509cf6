package chromejson

import (
	"strings"
	"testing"
)

// Every field has the key under which fieldOf knows it.
func TestFieldKeys(t *testing.T) {
	for f := fieldUnknown + 1; f < numFields; f++ {
		key, ok := strings.CutSuffix(fieldKeys[f], `":`)
		if !ok || !strings.HasPrefix(key, `"`) || fieldOf([]byte(key[1:])) != f {
			t.Errorf("field %d has the key %s", f, fieldKeys[f])
		}
	}
}
