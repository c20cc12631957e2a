package configfile

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

var nan = math.NaN()

var formats = []Format{JSON, JSONC, TOML, YAML, JSON5}

// FuzzEdit holds the promise of the package against any text: what can be parsed can be edited or is refused, what was
// set is there afterwards, and nothing else has changed.
func FuzzEdit(f *testing.F) {
	for _, c := range edits {
		format := uint8(slices.Index(formats, c.format))
		f.Add(format, c.text, "a", "b", "value")
		f.Add(format, c.text, "t", "x.y", "other\nvalue")
	}
	f.Fuzz(func(t *testing.T, n uint8, text, key, sub, value string) {
		format := formats[int(n)%len(formats)]
		d, err := Parse(format, "f", []byte(text))
		if err != nil {
			var fault *SyntaxError
			if !errors.As(err, &fault) {
				t.Fatalf("%T: %v", err, err)
			}
			return
		}
		if !bytes.Equal(d.Bytes(), []byte(text)) {
			t.Fatalf("an unchanged document is %q", d.Bytes())
		}
		path := Path{key, sub}
		before := d.Value()
		err = d.Set(path, value)
		if err != nil {
			if string(d.Bytes()) != text {
				t.Fatalf("refused, and changed: %v", err)
			}
			return
		}
		if got, ok := d.Get(path); !ok || got != value {
			t.Fatalf("set %q, got %v", value, got)
		}
		if !equal(any(d.Value()), assign(before, path, value)) {
			t.Fatalf("more has changed:\n%s\n%s", text, d.Bytes())
		}
		again, err := Parse(format, "f", d.Bytes())
		if err != nil {
			t.Fatalf("the result cannot be parsed: %v\n%s", err, d.Bytes())
		}
		if ok, err := again.Unset(path); err == nil {
			if _, there := again.Get(path); !ok || there {
				t.Fatalf("taken out, and still there: %s", again.Bytes())
			}
		}
	})
}

// FuzzParsePath holds the two forms of a path against each other.
func FuzzParsePath(f *testing.F) {
	for _, s := range []string{"a.b", `a."b.c"`, `'x y'.z`, "", "a..b", `"\u00e9"`} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		p, err := ParsePath(s)
		if err != nil {
			return
		}
		again, err := ParsePath(p.String())
		if err != nil || !slices.Equal(p, again) {
			t.Fatalf("%q is %q, which reads as %q: %v", s, p, again, err)
		}
	})
}

// TestRandomEdits makes documents with edits and checks that every other line stays what it was.
func TestRandomEdits(t *testing.T) {
	t.Parallel()
	for _, format := range formats {
		t.Run(string(format), func(t *testing.T) {
			t.Parallel()
			refused := 0
			for seed := range uint64(400) {
				r := rand.New(rand.NewPCG(seed, 7))
				d, err := Parse(format, "f", nil)
				if err != nil {
					t.Fatal(err)
				}
				model := any(map[string]any{})
				for range 12 {
					path := randomPath(r)
					before := string(d.Bytes())
					if r.IntN(4) == 0 {
						ok, err := d.Unset(path)
						if err != nil {
							t.Fatalf("seed %d: unset %s: %v\n%s", seed, path, err, before)
						}
						if ok {
							model = remove(model, path)
							for n := len(path) - 1; n > 0; n-- {
								if _, there := d.Get(path[:n]); !there && format == TOML {
									model = remove(model, path[:n])
								}
							}
						}
					} else {
						v := randomValue(r, 2)
						n, _ := normalize(v)
						if err := d.Set(path, v); errors.Is(err, ErrUnsafe) {
							t.Fatalf("seed %d: %v = %#v\n%s", seed, path, v, before)
						} else if err != nil {
							refused++ // a scalar in the way
							continue
						}
						model = merged(model, path, plain(n))
					}
					if !equal(any(d.Value()), model) {
						t.Fatalf("seed %d: %s\nwas:\n%s\nis:\n%s\nwant %v", seed, path, before, d.Bytes(), model)
					}
				}
			}
			if refused > 3000 {
				t.Errorf("%d of 4800 edits refused", refused)
			}
		})
	}
}

// merged is what Set means.
func merged(model any, path Path, v any) any {
	have, _ := lookup(model, path)
	old, ok := have.(map[string]any)
	m, object := v.(map[string]any)
	if !ok || !object {
		return assign(model, path, clone(v))
	}
	for k := range m {
		model = merged(model, append(path[:len(path):len(path)], k), m[k])
	}
	_ = old
	return model
}

func randomPath(r *rand.Rand) Path {
	keys := []string{"a", "b", "c.d", "e f", `g"h`, "i", "#j", "k:l", "é"}
	p := Path{}
	for range 1 + r.IntN(3) {
		p = append(p, keys[r.IntN(len(keys))])
	}
	return p
}

func randomValue(r *rand.Rand, depth int) any {
	n := 8
	if depth == 0 {
		n = 6
	}
	switch r.IntN(n) {
	case 0:
		return r.Int64N(1000)
	case 1:
		return r.IntN(2) == 0
	case 2:
		return fmt.Sprintf("text %d", r.IntN(10))
	case 3:
		return []string{"a # b", "two\nlines", `"q" 'r'`, "", "é\t\\"}[r.IntN(5)]
	case 4:
		return []any{int64(1), "x, ]", []any{true}}
	case 5:
		return 1.5
	case 6:
		m := map[string]any{}
		for range r.IntN(3) {
			m[randomPath(r)[0]] = randomValue(r, depth-1)
		}
		return m
	}
	return []any{map[string]any{"k": strings.Repeat("v", r.IntN(3))}}
}
