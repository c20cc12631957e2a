package conformance

import (
	"strings"
	"testing"
	"testing/fstest"
)

const goodFixture = `{"fixture_id":"X-1","tier":1,"surface":"s","description":"d","type":"t",
	"setup":{},"input":{"operation":"op","args":{"b":1,"a":2}},"expected":{}}`

func TestParseFixture(t *testing.T) {
	f, err := ParseFixture([]byte(goodFixture))
	if err != nil {
		t.Fatal(err)
	}
	if want := strings.NewReplacer("\n", "", "\t", "").Replace(goodFixture); string(f.Raw) != want {
		t.Errorf("handed over is %s, want %s", f.Raw, want)
	}
	for _, tc := range []struct {
		name, old, new string
		want           []string
	}{
		{"no object", goodFixture, "[]", []string{"not array"}},
		{"nothing", goodFixture, "", []string{"not nothing"}},
		{"cut", goodFixture, goodFixture[:40], []string{"unexpected"}},
		{"everything missing", goodFixture, "{}", []string{"fixture_id is missing", "tier is missing", "surface is missing", "description is missing", "type is missing", "setup is missing", "input is missing", "expected is missing"}},
		{"tier 0", `"tier":1`, `"tier":0`, []string{"tier is 0"}},
		{"tier 4", `"tier":1`, `"tier":4`, []string{"tier is 4"}},
		{"half a tier", `"tier":1`, `"tier":1.5`, []string{"tier"}},
		{"empty id and surface", `"X-1","tier":1,"surface":"s"`, `" ","tier":1,"surface":""`, []string{"fixture_id is empty", "surface is empty"}},
		{"setup is a list", `"setup":{}`, `"setup":[]`, []string{"setup is array"}},
		{"no operation", `"operation":"op"`, `"operation":" "`, []string{"input.operation"}},
		{"input is a word", `{"operation":"op","args":{"b":1,"a":2}}`, `"op"`, []string{"input"}},
		{"a key twice", `"type":"t"`, `"type":"t","type":"u"`, []string{"appears twice"}},
		{"too large", `"description":"d"`, `"description":"` + strings.Repeat("d", maxFixture) + `"`, []string{"more than"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			_, err := ParseFixture([]byte(strings.Replace(goodFixture, tc.old, tc.new, 1)))
			for _, w := range tc.want {
				if err == nil || !strings.Contains(err.Error(), w) {
					t.Errorf("got %v, want %s", err, w)
				}
			}
		})
	}
}

func TestLoad(t *testing.T) {
	of := func(id string) *fstest.MapFile {
		return &fstest.MapFile{Data: []byte(strings.Replace(goodFixture, "X-1", id, 1))}
	}
	list, err := Load(fstest.MapFS{
		"README.md": {Data: []byte("#")}, "capabilities.json": {Data: []byte("{}")},
		"1/b/B-2.json": of("B-2"), "1/a/A-1.json": of("A-1"), "1/b/B-1.json": of("B-1"), "1/b-c/C.json": of("C"),
	})
	if err != nil {
		t.Fatal(err)
	}
	var ids []string
	for _, f := range list {
		ids = append(ids, f.ID)
	}
	if got := strings.Join(ids, " "); got != "A-1 C B-1 B-2" {
		t.Errorf("in the order of paths: %s", got)
	}
	_, err = Load(fstest.MapFS{"a.json": of("A"), "b.json": of("A"), "c.json": {Data: []byte("{")}, "d.json": {Data: []byte(strings.Repeat(" ", maxFixture+1))}})
	for _, want := range []string{"b.json: A is already the id of a.json", "c.json: ", "d.json: the fixture has"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}

func FuzzParseFixture(f *testing.F) {
	f.Add([]byte(goodFixture))
	f.Add([]byte(`{"input":null,"tier":"x"}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		fx, err := ParseFixture(data)
		if err == nil && (fx.ID == "" || fx.Input.Operation == "" || len(fx.Raw) == 0) {
			t.Errorf("half a fixture: %+v", fx)
		}
	})
}
