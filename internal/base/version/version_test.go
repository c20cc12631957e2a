package version

import (
	"slices"
	"strings"
	"testing"
)

func TestParse(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ in, want string }{
		{"1.2.3", "1.2.3"},
		{"v1.2.3", "1.2.3"},
		{"V0.169.0", "0.169.0"},
		{"1", "1.0.0"},
		{"1.2", "1.2.0"},
		{"2025.09.18-7ae6800", "2025.9.18-7ae6800"},
		{"1.0.0-alpha.1+build.5", "1.0.0-alpha.1"},
		{"1.0.0+21AF26D3---117B344092BD", "1.0.0"},
		{"1.0.0-x-y-z.--", "1.0.0-x-y-z.--"},
		{"1.0+1-2", "1.0.0"},
		{"99999999999999999999999.999999999999999999.99999999999999999", "99999999999999999999999.999999999999999999.99999999999999999"},
	} {
		v, err := Parse(c.in)
		if err != nil || v.String() != c.want {
			t.Errorf("Parse(%q) = %q, %v, want %q", c.in, v, err, c.want)
		}
	}
	for _, in := range []string{"", "v", "x", "1.2.3.4", "1..2", "1.2.3-", "1.2.3-a..b", "1.2.3+", "1.2.3-ä", "1.2.3-a_b",
		"1.2.3 (Claude Code)", "-1.2.3", "1.2.x", " 1.2.3", "1.2.3\n", "vv1", "1.2.3+a+b", strings.Repeat("1", 300)} {
		if v, err := Parse(in); err == nil {
			t.Errorf("Parse(%q) = %q, want an error", in, v)
		}
	}
}

func TestVersionOrder(t *testing.T) {
	t.Parallel()
	// The order of semver.org section 11, and around it.
	ordered := []string{"0.0.0-0", "0.0.0", "0.0.1", "0.9.10", "0.10.0", "1.0.0-1", "1.0.0-9", "1.0.0-10", "1.0.0-99999999999999999999",
		"1.0.0--", "1.0.0-Beta", "1.0.0-alpha", "1.0.0-alpha.1", "1.0.0-alpha.beta", "1.0.0-beta", "1.0.0-beta.2", "1.0.0-beta.11",
		"1.0.0-rc.1", "1.0.0", "1.0.1", "2.0.0", "2.1.0", "2.1.1", "2.1.329", "10.0.0", "2025.09.18", "99999999999999999999.0.0", "100000000000000000000.0.0"}
	for i, a := range ordered {
		for j, b := range ordered {
			want := 0
			if i < j {
				want = -1
			} else if i > j {
				want = 1
			}
			if got, err := Compare(a, b); err != nil || got != want {
				t.Errorf("Compare(%s, %s) = %d, %v, want %d", a, b, got, err, want)
			}
		}
	}
	for _, equal := range [][2]string{{"1.2", "1.2.0"}, {"v1.2.3", "1.2.3"}, {"1.2.3+a", "1.2.3+b"}, {"01.02.03", "1.2.3"}, {"1.0.0-01", "1.0.0-1"}} {
		if got, err := Compare(equal[0], equal[1]); err != nil || got != 0 {
			t.Errorf("Compare(%s, %s) = %d, %v, want 0", equal[0], equal[1], got, err)
		}
	}
	for _, bad := range [][2]string{{"x", "1"}, {"1", "x"}} {
		if _, err := Compare(bad[0], bad[1]); err == nil || !strings.Contains(err.Error(), `"x"`) {
			t.Errorf("Compare(%s, %s): %v, want an error about x", bad[0], bad[1], err)
		}
	}
}

func TestFind(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ in, want string }{
		{"2.1.329 (Claude Code)", "2.1.329"},
		{"codex-cli 0.169.0\n", "0.169.0"},
		{"v22.1.0", "22.1.0"},
		{"version: v1.2", "1.2"},
		{"tool 1.2.3.", "1.2.3"},
		{"aider 0.86.2.dev63+g12", "0.86.2"},
		{"x 1.2.3rc1", "1.2.3"},
		{"2025.09.18-7ae6800", "2025.09.18-7ae6800"},
		{"on python3.11 tool 4.5.6", "4.5.6"},
		{"listening on 127.0.0.1, tool 4.5.6", "4.5.6"},
		{"took 1.5s, tool 4.5.6-beta.1+x", "4.5.6-beta.1+x"},
		{"ä1.2.3", "1.2.3"},
		{"3", ""}, {"", ""}, {"no version", ""}, {"127.0.0.1", ""}, {"v1", ""}, {"python3.11", ""},
	} {
		if got := Find(c.in); got != c.want {
			t.Errorf("Find(%q) = %q, want %q", c.in, got, c.want)
		}
	}
}

func TestMinimumAndTested(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		version, minimum string
		want             bool
	}{
		{"", "", false}, {"", "1.0.0", false}, {"1.0.0", "", true}, {"nightly", "", true}, {"nightly", "1.0.0", false},
		{"1.0.0", "1.0.0", true}, {"0.9.9", "1.0.0", false}, {"1.0.0-rc.1", "1.0.0", false}, {"1.0.1-rc.1", "1.0.0", true}, {"0.10.0", "0.9.0", true},
	} {
		if got := AtLeast(c.version, c.minimum); got != c.want {
			t.Errorf("AtLeast(%q, %q) = %v, want %v", c.version, c.minimum, got, c.want)
		}
	}
	for _, c := range []struct {
		version string
		tested  []string
		want    bool
	}{
		{"1.0.0", nil, false}, {"", []string{"1.0.0"}, false}, {"1.0.0", []string{"1.0.0"}, true}, {"1.0.1", []string{"1.0.0"}, false},
		{"1.5.0", []string{"2.0.0", "1.0.0"}, true}, {"0.9.0", []string{"2.0.0", "1.0.0"}, false}, {"2.0.1", []string{"1.0.0", "2.0.0"}, false}, {"x", []string{"1.0.0"}, false},
	} {
		if got := Within(c.version, c.tested); got != c.want {
			t.Errorf("Within(%q, %v) = %v, want %v", c.version, c.tested, got, c.want)
		}
	}
}

// FuzzVersion holds parsed versions to a total order.
func FuzzVersion(f *testing.F) {
	f.Add("1.0.0", "1.0.0-rc.1", "v2")
	f.Add("1.0.0-1", "1.0.0-01", "1.0.0-a")
	f.Add("1.0.0-alpha", "1.0.0-alpha.0", "1.0.0-alpha.beta+5")
	f.Add("2025.09.18-7ae6800", "99999999999999999999.0.0", "1")
	f.Fuzz(func(t *testing.T, a, b, c string) {
		var vs []Version
		for _, s := range []string{a, b, c} {
			v, err := Parse(s)
			if err != nil {
				continue
			}
			if w, err := Parse(v.String()); err != nil || v.Compare(w) != 0 {
				t.Fatalf("%q prints as %q, which parses to %q, %v", s, v, w, err)
			}
			vs = append(vs, v)
		}
		for _, v := range vs {
			for _, w := range vs {
				if v.Compare(w) != -w.Compare(v) {
					t.Fatalf("%s against %s is not antisymmetric", v, w)
				}
				if v.Compare(w) == 0 && v.String() != w.String() && len(v.prerelease) == 0 {
					t.Fatalf("%s equals %s", v, w)
				}
				for _, x := range vs {
					if v.Compare(w) <= 0 && w.Compare(x) <= 0 && v.Compare(x) > 0 {
						t.Fatalf("%s, %s, %s is not transitive", v, w, x)
					}
				}
			}
		}
		slices.SortFunc(vs, Version.Compare)
	})
}

// FuzzFind holds Find to parts of the text that parse.
func FuzzFind(f *testing.F) {
	for _, s := range []string{"codex-cli 0.169.0", "2.1.329 (Claude Code)", "v1.2.3-rc.1+b", "127.0.0.1", "1.2.3.4 5.6", "1.5s", "\xff1.2.\xff"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		v := Find(text)
		if v == "" {
			return
		}
		if _, err := Parse(v); err != nil || !strings.Contains(text, v) {
			t.Fatalf("Find(%q) = %q, %v", text, v, err)
		}
	})
}
