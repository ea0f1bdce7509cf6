package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Beam is in a separate module, so that weft does not get its dependencies: neither go.mod nor go.sum names it.
func TestBeamStaysOutside(t *testing.T) {
	for _, name := range []string{"go.mod", "go.sum"} {
		text, err := os.ReadFile(filepath.Join("..", "..", name))
		if err != nil {
			t.Fatal(err)
		}
		for _, module := range []string{"github.com/apache/beam", "cloud.google.com/", "github.com/aws/", "google.golang.org/grpc", "google.golang.org/api"} {
			if strings.Contains(string(text), module) {
				t.Errorf("%s names %s", name, module)
			}
		}
	}
	text, err := os.ReadFile(filepath.Join("..", "..", "beam", "go.mod"))
	if err != nil || !strings.Contains(string(text), "github.com/apache/beam/sdks/v2 v2") {
		t.Errorf("beam/go.mod: %v", err)
	}
}
