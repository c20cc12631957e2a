package turnresult

import (
	"regexp"
	"strings"
	"testing"
)

// Left as it is, the template is refused for its placeholders and nothing else; filled in, it is valid as it stands.
func TestTemplate(t *testing.T) {
	t.Parallel()
	for _, c := range [][2]string{{"pm", "planning"}, {"dev", "implementation"}, {"api", "implementation"}, {"patcher", "implementation"}, {"qa", "qa"}, {"old", "implementation"}, {"dev", "elsewhere"}} {
		in := input(t, c[0], c[1])
		text := Template(in)
		raw, _, err := Decode(text)
		if err != nil {
			t.Fatal(err)
		}
		in.Raw = raw
		r := Validate(in)
		for _, f := range r.Faults {
			if f.Type != "unfilled_placeholder" {
				t.Errorf("%s in %s: %s", c[0], c[1], f)
			}
		}
		if n := strings.Count(string(text), `"<`); len(r.Faults) != n {
			t.Errorf("%s in %s: %d placeholders, %d faults", c[0], c[1], n, len(r.Faults))
		}
		if in.Raw, _, err = Decode(regexp.MustCompile(`"<[^>]+>"`).ReplaceAll(text, []byte(`"src/a.go"`))); err != nil {
			t.Fatal(err)
		}
		if r := Validate(in); !r.OK() {
			t.Errorf("%s in %s, filled in: %q\n%s", c[0], c[1], Errors(r), text)
		}
	}
	if raw, _, err := Decode(Template(Input{})); err != nil || raw.Len() < 13 {
		t.Errorf("of nothing: %v", err)
	}
}
