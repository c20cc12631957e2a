package clitest

import (
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// Shape is a jsonscan.Shape of any type.
type Shape interface{ Paths() []string }

// TestShapes uses every shape of a package, so that a misdeclared one is found before an agent's line reaches it.
// testdata/shapes.golden lists the members they read.
func TestShapes(t *testing.T, shapes map[string]Shape) {
	declaredShape := regexp.MustCompile(`(?m)^(?:var |\t)(\w+) +jsonscan\.Shape\[`)
	for _, file := range Glob(t, "*.go", 1) {
		for _, m := range declaredShape.FindAllSubmatch(Read(t, file), -1) {
			if shapes[string(m[1])] == nil && !strings.HasSuffix(file, "_test.go") {
				t.Errorf("%s declares %s, which is not tested", file, m[1])
			}
		}
	}
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(shapes)) {
		b.WriteString(name + "\n")
		for _, p := range shapes[name].Paths() {
			b.WriteString("\t" + p + "\n")
		}
	}
	Compare(t, "testdata/shapes.golden", []byte(b.String()))
}
