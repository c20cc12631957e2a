package clitest

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// mutated is a folder for the events of every mutated recording, to compare two versions of a parser with diff.
var mutated = flag.String("mutated", "", "write the events of every mutated recording into this `folder`")

// seeds is the number of mutations of each class per recording, shortSeeds with -short.
const (
	seeds      = 10
	shortSeeds = 3
)

// mutation changes the lines of a recording.
type mutation struct {
	name  string
	apply func(m *mutator)
}

var mutations = []mutation{
	{"drop", func(m *mutator) { i := m.pick(); m.lines = slices.Delete(m.lines, i, i+1) }},
	{"double", func(m *mutator) { i := m.pick(); m.insert(m.pickFrom(i), m.lines[i]) }},
	{"swap", func(m *mutator) { i, j := m.pick(), m.pick(); m.lines[i], m.lines[j] = m.lines[j], m.lines[i] }},
	{"cut", (*mutator).cut},
	{"splice", func(m *mutator) { m.insert(m.pick(), m.other[m.rng.IntN(len(m.other))]) }},
	{"word", func(m *mutator) { m.value(isWord) }},
	{"value", func(m *mutator) { m.value(isValue) }},
	{"key", func(m *mutator) { m.value(isKey) }},
}

// TestDifferential compares the parser's events of mutated recordings with hashes in differential.txt, one line per
// recording and class of mutation, one hash per seed. -update rewrites the file after an intended change; -mutated
// before and after the change, and a diff of both folders, show which events changed.
func (g Goldens) TestDifferential(t *testing.T) {
	files := Glob(t, g.Pattern, g.Least)
	recordings := make([]Recording, len(files))
	for i, file := range files {
		recordings[i] = g.recording(t, file)
	}
	place := filepath.Join(filepath.Dir(g.Pattern), "differential.txt")
	known, rows := readHashes(t, place), make([]string, len(files)*len(mutations))
	n := seeds
	if testing.Short() && !*Update {
		n = shortSeeds
	}
	t.Run("recordings", func(t *testing.T) {
		for i, r := range recordings {
			other := lines(recordings[(i+1+i*i%7)%len(recordings)].Stdout)
			t.Run(r.Name, func(t *testing.T) {
				t.Parallel()
				for k, class := range mutations {
					key := r.Name + " " + class.name
					var row, changed []string
					for seed := range n {
						m := newMutator(r, class.name, seed, other, g.Span)
						for range 1 + m.rng.IntN(3) {
							if m.any() {
								class.apply(m)
							}
						}
						row = append(row, g.hash(t, m.recording(r), fmt.Sprintf("%s.%s.%d", r.Name, class.name, seed)))
						if !*Update && (seed >= len(known[key]) || known[key][seed] != row[seed]) {
							changed = append(changed, fmt.Sprint(seed))
						}
					}
					rows[i*len(mutations)+k] = key + " " + strings.Join(row, " ")
					if changed != nil {
						t.Errorf("%s: other events than before with seed %s (see -mutated)", key, strings.Join(changed, ", "))
					}
				}
			})
		}
	})
	if !*Update {
		if len(known) != len(rows) {
			t.Errorf("%s has %d rows, want %d; write it with -update", place, len(known), len(rows))
		}
		return
	}
	if err := os.WriteFile(place, []byte(strings.Join(rows, "\n")+"\n"), 0o644); err != nil {
		t.Fatal(err)
	}
}

// hash returns four digits for the parser's events of a recording.
func (g Goldens) hash(t *testing.T, r Recording, name string) string {
	var text []byte
	if g.Log != nil {
		text = g.Log(t, r)
	} else {
		events, res := g.Replay(t, r)
		text = Render(t, events, res)
	}
	if *mutated != "" {
		dir := filepath.Join(*mutated, strings.ReplaceAll(t.Name(), "/", "_"))
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		for ending, b := range map[string][]byte{".events": text, ".lines": r.Stdout} {
			if err := os.WriteFile(filepath.Join(dir, name+ending), b, 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
	h := fnv.New64a()
	h.Write(text)
	return fmt.Sprintf("%04x", h.Sum64()>>48)
}

func readHashes(t *testing.T, place string) map[string][]string {
	text, err := os.ReadFile(place)
	if err != nil && !*Update {
		t.Fatalf("%v; write it with -update", err)
	}
	known := map[string][]string{}
	for line := range strings.Lines(string(text)) {
		if f := strings.Fields(line); len(f) > 2 {
			known[f[0]+" "+f[1]] = f[2:]
		}
	}
	return known
}

// mutator changes the lines of one recording.
type mutator struct {
	rng   *rand.Rand
	lines [][]byte
	other [][]byte // lines of another recording
	span  func(line []byte) (from, to int)
}

func newMutator(r Recording, class string, seed int, other [][]byte, span func([]byte) (int, int)) *mutator {
	h := fnv.New64a()
	fmt.Fprintf(h, "%s %s", r.Name, class)
	if span == nil {
		span = func(line []byte) (int, int) { return 0, len(line) }
	}
	m := &mutator{rng: rand.New(rand.NewPCG(h.Sum64(), uint64(seed))), lines: lines(r.Stdout), span: span}
	for _, line := range other {
		if from, to := span(line); from < to {
			m.other = append(m.other, line)
		}
	}
	if m.other == nil {
		m.other = [][]byte{[]byte("{}\n")}
	}
	return m
}

func (m *mutator) recording(r Recording) Recording {
	r.Stdout = bytes.Join(m.lines, nil)
	return r
}

// any reports whether a line can be changed.
func (m *mutator) any() bool {
	return slices.ContainsFunc(m.lines, func(line []byte) bool { from, to := m.span(line); return from < to })
}

// pick returns one of the agent's lines.
func (m *mutator) pick() int {
	for {
		i := m.rng.IntN(len(m.lines))
		if from, to := m.span(m.lines[i]); from < to {
			return i
		}
	}
}

// pickFrom returns a line at or after another, usually near it.
func (m *mutator) pickFrom(i int) int {
	if m.rng.IntN(2) == 0 {
		return i
	}
	return i + m.rng.IntN(len(m.lines)-i+1)
}

func (m *mutator) insert(i int, line []byte) { m.lines = slices.Insert(m.lines, i, line) }

// cut truncates the recording after or within a line.
func (m *mutator) cut() {
	i := m.pick()
	line := m.lines[i]
	m.lines = m.lines[:i]
	if from, to := m.span(line); from == 0 && to == len(line) && m.rng.IntN(2) == 0 {
		m.lines = append(m.lines, line[:m.rng.IntN(len(line))])
	}
}

type token uint8

const (
	isWord  token = iota // a string
	isValue              // any value except strings, lists and objects
	isKey                // the name of a member
)

// values are the replacements of numbers, booleans and null.
var values = []string{"0", "-1", "7", "1.5", "99999999999999", "true", "false", "null", `"x"`, "{}", "[]"}

// value changes a token of a line: a word becomes another word of the recording, empty or strange; a value becomes
// one of another type; a member is renamed, duplicated or joined by an unknown one.
func (m *mutator) value(kind token) {
	i := m.pick()
	line := m.lines[i]
	from, to := m.span(line)
	found := tokens(line[from:to], kind)
	if len(found) == 0 {
		return
	}
	at := found[m.rng.IntN(len(found))]
	was, now := string(line[from+at[0]:from+at[1]]), ""
	switch kind {
	case isWord:
		now = []string{`""`, `"zz\u00e9\n"`, "null", "{}"}[m.rng.IntN(4)]
		if other := m.lines[m.pick()]; m.rng.IntN(3) > 0 {
			if words := tokens(other, isWord); len(words) > 0 {
				w := words[m.rng.IntN(len(words))]
				now = string(other[w[0]:w[1]])
			}
		}
	case isValue:
		now = values[m.rng.IntN(len(values))]
	case isKey:
		now = []string{`"zz"`, `"zz":{"a":[1]},` + was, was + `:null,` + was}[m.rng.IntN(3)]
	}
	m.lines[i] = slices.Concat(line[:from+at[0]], []byte(now), line[from+at[1]:])
}

// tokens returns the positions of the tokens of a type in a line of JSON.
func tokens(line []byte, kind token) (found [][2]int) {
	d := json.NewDecoder(bytes.NewReader(line))
	d.UseNumber()
	var inObject []bool
	key := false
	for {
		before := int(d.InputOffset())
		t, err := d.Token()
		if err != nil {
			return found
		}
		after := int(d.InputOffset())
		from := before + len(line[before:after]) - len(bytes.TrimLeft(line[before:after], " \t\r\n,:"))
		if delim, ok := t.(json.Delim); ok {
			if delim == '{' || delim == '[' {
				inObject = append(inObject, delim == '{')
			} else {
				inObject = inObject[:len(inObject)-1]
			}
			key = len(inObject) > 0 && inObject[len(inObject)-1]
			continue
		}
		_, text := t.(string)
		switch {
		case key:
			key = false
			if kind == isKey {
				found = append(found, [2]int{from, after})
			}
			continue
		case text && kind == isWord, !text && kind == isValue:
			found = append(found, [2]int{from, after})
		}
		key = len(inObject) > 0 && inObject[len(inObject)-1]
	}
}

// lines returns the lines of a recording with their line endings.
func lines(recording []byte) [][]byte {
	all := bytes.SplitAfter(bytes.TrimSuffix(recording, []byte("\n")), []byte("\n"))
	all[len(all)-1] = append(bytes.Clone(all[len(all)-1]), '\n')
	return all
}
