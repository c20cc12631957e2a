package supervisor

import (
	"bytes"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestOrder(t *testing.T) {
	t.Parallel()
	for _, want := range []Order{
		{Argv: []string{}, Env: []string{}, Scratch: []string{}},
		{Path: "/bin/x", Dir: "/d", Mark: "ab", Group: "/g", Pty: true, Argv: []string{"x", "", "y\nz"}, Env: []string{"A=1", "B=" + strings.Repeat("b", 100_000)}, Scratch: []string{"/tmp/a b"}},
	} {
		b := want.Encode()
		if n := number(b); n != uint64(len(b)-8) {
			t.Errorf("the length is %d of %d", n, len(b))
		}
		got, ok := decodeOrder(b[8:])
		if diff := cmp.Diff(want, got); diff != "" || !ok {
			t.Errorf("%t, (-want +got)\n%s", ok, diff)
		}
	}
}

func FuzzDecodeOrder(f *testing.F) {
	f.Add(Order{Path: "/bin/x", Argv: []string{"x"}, Env: []string{"A=1"}}.Encode()[8:])
	f.Add([]byte{1, 2, 3})
	f.Add(bytes.Repeat([]byte{0xff}, 64))
	f.Fuzz(func(t *testing.T, b []byte) {
		o, ok := decodeOrder(bytes.Clone(b))
		if !ok {
			return
		}
		if again, ok := decodeOrder(o.Encode()[8:]); !ok || !cmp.Equal(o, again) {
			t.Errorf("%+v became %+v, %t", o, again, ok)
		}
	})
}

func TestTag(t *testing.T) {
	t.Parallel()
	a, b := TagOf("0123456789abcdef0123456789abcdef"), TagOf("f123456789abcdef0123456789abcdef")
	if a == b || a < 1<<61 || b < 1<<61 || a > 1<<62+1<<61 || b > 1<<62+1<<61 {
		t.Errorf("got %x and %x", a, b)
	}
}

// TestGroupsOfNestedRunsGo: the group of a run that was killed with the one that it ran in does not stay, and neither does that one's.
func TestGroupsOfNestedRunsGo(t *testing.T) {
	t.Parallel()
	outer := OwnGroup(strings.Repeat("ab", 16))
	if outer.Path == "" {
		t.Skip("SKIPPED: needs a control group of its own that may be divided")
	}
	for _, dir := range []string{outer.Path, outer.Path + "/" + GroupPrefix + strings.Repeat("cd", 16)} {
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if !outer.remove() {
		t.Error("the group is busy")
	}
	if _, err := os.Stat(outer.Path); !os.IsNotExist(err) {
		t.Errorf("the group is left: %v", err)
	}
}
