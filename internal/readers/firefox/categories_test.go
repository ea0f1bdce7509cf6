package firefox

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// categoryProfile is a processed profile with two threads: one runs a frame with the category JavaScript below a root
// without a category, the other only that root. Versions up to 52 have stack categories.
func categoryProfile(version int, ofStacks, ofFrames string) string {
	return fmt.Sprintf(`{"meta":{"version":31,"preprocessedProfileVersion":%d,"interval":1,"startTime":0,"categories":[
{"name":"Idle","color":"transparent","subcategories":["Other"]},{"name":"Other","color":"grey","subcategories":["Other"]},
{"name":"JavaScript","color":"yellow","subcategories":["Other"]}],"markerSchema":[]},"libs":[],"pages":[],"threads":[%s,%s]}`, version,
		categoryThread("busy", 1, ofStacks, ofFrames), categoryThread("root only", 0, ofStacks, ofFrames))
}

func categoryThread(name string, stack int, ofStacks, ofFrames string) string {
	return fmt.Sprintf(`{"name":%q,"isMainThread":false,"processType":"default","pid":"1","tid":%d,"registerTime":0,"processStartupTime":0,
"samples":{"time":[1,2],"stack":[%d,%[3]d],"weight":null,"weightType":"samples","length":2},
"markers":{"data":[],"name":[],"startTime":[],"endTime":[],"phase":[],"category":[],"length":0},"stringArray":["(root)","f"],
"stackTable":{"frame":[0,1],"prefix":[null,0],%s"length":2},
"frameTable":{"address":[-1,-1],"inlineDepth":[0,0],%s"func":[0,1],"line":[null,null],"column":[null,null],"length":2},
"funcTable":{"name":[0,1],"isJS":[false,true],"relevantForJS":[false,false],"resource":[-1,-1],"fileName":[null,null],"lineNumber":[null,null],
"columnNumber":[null,null],"length":2}}`, name, stack+2, stack, ofStacks, ofFrames)
}

// Categories are the same before and after version 53, which removed stack categories: earlier, the front end filled in the
// default where neither a frame nor its callers had a category.
func TestFilledInCategories(t *testing.T) {
	const frames = `"category":[null,2],"subcategory":[null,0],`
	want := suite.Dump(t, strings.NewReader(categoryProfile(53, ``, frames)), Options{})
	if n := strings.Count(want, "fact 1/3 Sample category: JavaScript in 2 samples from 1000000 to 3000000\n"); n != 1 || strings.Contains(want, "fact 1/2") {
		t.Errorf("the facts about the threads are others\n%s", want)
	}
	for _, version := range []int{50, 51, 52} {
		got := suite.Dump(t, strings.NewReader(categoryProfile(version, `"category":[1,2],"subcategory":[0,0],`, frames)), Options{})
		got = strings.Replace(got, fmt.Sprintf("preprocessedProfileVersion: %d", version), "preprocessedProfileVersion: 53", 1)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("version 53 -, version %d +:\n%s", version, diff)
		}
	}
	// If only stacks have categories, they come from the producer, including the default.
	got := suite.Dump(t, strings.NewReader(categoryProfile(50, `"category":[1,2],"subcategory":[0,0],`, ``)), Options{})
	if n := strings.Count(got, "Sample category: Other"); n != 1 {
		t.Errorf("the category Other of the producer is written %d times\n%s", n, got)
	}
	// A frame keeps an explicit default category.
	got = suite.Dump(t, strings.NewReader(categoryProfile(50, `"category":[1,2],"subcategory":[0,0],`, `"category":[1,2],"subcategory":[0,0],`)), Options{})
	if n := strings.Count(got, "Sample category: Other"); n != 1 {
		t.Errorf("the category Other of a frame is written %d times\n%s", n, got)
	}
}
