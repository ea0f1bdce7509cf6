package message

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// elsewhere lists the files that iterate over encoded fields themselves, with the reasons. Most need the positions of bytes,
// which no decoder returns.
var elsewhere = map[string]string{
	"internal/load/foreign.go":                "tells files of protobuf apart that weft does not read",
	"internal/eventstream/annotations.go":     "turns arguments into those of weft.v1",
	"internal/eventstream/args.go":            "weft.v1: leaves out what has no room",
	"internal/pfwire/detect.go":               "tells packets from other messages",
	"internal/pfwire/packets.go":              "the framing of packets in a file and in a bundle",
	"internal/pfwire/prune.go":                "leaves out the malformed parts of a packet",
	"internal/pfwire/rewrite.go":              "finds bytes of a packet that it replaces",
	"internal/pfwire/shorten.go":              "finds the long texts of a packet that is too large",
	"internal/pfwire/write.go":                "divides arguments in front of and after one",
	"internal/readers/otlp/args.go":           "the messages of OpenTelemetry",
	"internal/readers/otlp/collect.go":        "the messages of OpenTelemetry",
	"internal/readers/otlp/emit.go":           "the messages of OpenTelemetry",
	"internal/readers/otlp/fields.go":         "the messages of OpenTelemetry",
	"internal/readers/otlp/proto.go":          "the messages of OpenTelemetry",
	"internal/readers/otlp/requests.go":       "the messages of OpenTelemetry",
	"internal/readers/otlp/resources.go":      "the messages of OpenTelemetry",
	"internal/readers/perfetto/extensions.go": "the descriptors of messages, as protobuf itself writes them",
	"internal/readers/perfetto/schema.go":     "messages that the trace describes itself",
	"internal/timeline/args.go":               "encodes arguments, and takes some out again",
	"internal/timeline/argplaces.go":          "as args.go, for arrays",
	"internal/timeline/overlay.go":            "leaves an argument out, and gives one another name",
	"internal/timeline/result.go":             "divides arguments into annotations",
	"pftrace/verify_schema.go":                "checks the structure of every message by the table of package schema",
}

// Each message is decoded in one place: no other package iterates over encoded fields, except the files in elsewhere, or compares
// field numbers. The numbers of packets and their payloads may be used anywhere, because TracePacket.Payload contains them.
func TestMessagesAreDecodedHere(t *testing.T) {
	const root = "../../.."
	numbers := fieldNumbers(t, filepath.Join(root, "internal/schema/schema.pb.go"))
	used := map[string]bool{}
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name := filepath.ToSlash(strings.TrimPrefix(path, root+string(filepath.Separator)))
		if d.IsDir() {
			if slices.Contains([]string{"gen", "tools", "internal/outside", "internal/wire", "internal/pfwire/message", ".git"}, name) {
				return filepath.SkipDir
			}
			return nil
		}
		if !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") {
			return nil
		}
		fset := token.NewFileSet()
		file, err := parser.ParseFile(fset, path, nil, 0)
		if err != nil {
			return err
		}
		for _, at := range stepsThrough(file) {
			if used[name] = true; elsewhere[name] == "" {
				t.Errorf("%s steps through encoded fields", fset.Position(at))
			}
		}
		if elsewhere[name] == "" {
			for _, s := range comparedWith(file) {
				if number := s.Sel.Name; numbers[number] && !strings.HasPrefix(number, "TracePacket_") && number != "Trace_Packet" {
					t.Errorf("%s: schema.%s is compared with a field", fset.Position(s.Pos()), number)
				}
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for name := range elsewhere {
		if !used[name] {
			t.Errorf("%s need not be listed", name)
		}
	}
}

// fieldNumbers returns the constants of package schema that are field numbers.
func fieldNumbers(t *testing.T, path string) map[string]bool {
	file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ParseComments)
	if err != nil {
		t.Fatal(err)
	}
	numbers := map[string]bool{}
	for _, d := range file.Decls {
		if g, ok := d.(*ast.GenDecl); ok && g.Tok == token.CONST && strings.HasPrefix(g.Doc.Text(), "Fields of ") {
			for _, s := range g.Specs {
				numbers[s.(*ast.ValueSpec).Names[0].Name] = true
			}
		}
	}
	if !numbers["TrackDescriptor_UUID"] || numbers["TrackEvent_TypeInstant"] {
		t.Fatal("package schema names its constants otherwise")
	}
	return numbers
}

// stepsThrough returns the positions at which a file creates a reader of encoded fields.
func stepsThrough(file *ast.File) (at []token.Pos) {
	ast.Inspect(file, func(n ast.Node) bool {
		if s, ok := n.(*ast.SelectorExpr); ok && (isOf(s, "wire") && (s.Sel.Name == "NewReader" || s.Sel.Name == "NewPacked") ||
			isOf(s, "protowire") && strings.HasPrefix(s.Sel.Name, "Consume")) {
			at = append(at, s.Pos())
		}
		return true
	})
	return at
}

// comparedWith returns the constants of package schema in cases and comparisons.
func comparedWith(file *ast.File) (list []*ast.SelectorExpr) {
	collect := func(n ast.Node) bool {
		if s, ok := n.(*ast.SelectorExpr); ok && isOf(s, "schema") {
			list = append(list, s)
		}
		return true
	}
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.CaseClause:
			for _, e := range n.List {
				ast.Inspect(e, collect)
			}
		case *ast.BinaryExpr:
			if n.Op == token.EQL || n.Op == token.NEQ {
				ast.Inspect(n.X, collect)
				ast.Inspect(n.Y, collect)
			}
		}
		return true
	})
	return list
}

func isOf(s *ast.SelectorExpr, pkg string) bool {
	id, ok := s.X.(*ast.Ident)
	return ok && id.Name == pkg
}
