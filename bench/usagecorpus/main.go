// Command usagecorpus writes session files like those of Claude Code and Codex, for benchmarks of their readers. The same seed gives
// the same files. Mix and fields are those of real files, which consist mostly of tool outputs.
//
//	usagecorpus -dir DIR -bytes 2e9 -agent claude -seed 1 -output 3500
//
// It writes below DIR/.claude/projects or DIR/.codex/sessions. The prices of its models do not depend on the length of a prompt, so
// that every price table with these models gives the same sum.
package main

import (
	"bufio"
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"time"
)

func main() {
	dir := flag.String("dir", "", "home directory to write below")
	size := flag.Float64("bytes", 1e8, "about how many bytes")
	agent := flag.String("agent", "claude", "claude or codex")
	seed := flag.Uint64("seed", 1, "the same files for the same seed")
	output := flag.Int("output", 3500, "median size of a tool's output in bytes")
	flag.Parse()
	if *dir == "" || flag.NArg() > 0 || (*agent != "claude" && *agent != "codex") {
		fmt.Fprintln(os.Stderr, "usage: usagecorpus -dir DIR [-bytes N] [-agent claude|codex] [-seed N] [-output N]")
		os.Exit(2)
	}
	written, files, err := generate(*dir, *agent, int64(*size), *seed, *output)
	if err != nil {
		fmt.Fprintln(os.Stderr, "usagecorpus:", err)
		os.Exit(1)
	}
	fmt.Printf("%d files, %d bytes\n", files, written)
}

// generate writes sessions until the files have the requested size.
func generate(dir, agent string, size int64, seed uint64, output int) (written int64, files int, err error) {
	pool := textPool(rand.New(rand.NewPCG(seed, 99)))
	for n := uint64(0); written < size; n++ {
		g := &generator{Rand: rand.New(rand.NewPCG(seed, n)), pool: pool, dir: dir, n: n, seed: seed, output: output}
		if agent == "claude" {
			g.claude()
		} else {
			g.codex()
		}
		if g.err != nil {
			return written, files, g.err
		}
		written += g.written
		files += g.files
	}
	return written, files, nil
}

// generator writes a session and its related files.
type generator struct {
	*rand.Rand
	pool    []string
	dir     string
	n, seed uint64
	output  int
	now     time.Time
	out     *bufio.Writer
	file    *os.File
	written int64
	files   int
	err     error
}

func (g *generator) open(parts ...string) {
	path := filepath.Join(append([]string{g.dir}, parts...)...)
	if g.err = os.MkdirAll(filepath.Dir(path), 0o700); g.err != nil {
		return
	}
	if g.file, g.err = os.Create(path); g.err == nil {
		g.out = bufio.NewWriterSize(g.file, 1<<20)
		g.files++
	}
}

func (g *generator) close() {
	if g.err == nil {
		g.err = g.out.Flush()
	}
	if g.file != nil {
		if err := g.file.Close(); g.err == nil {
			g.err = err
		}
	}
}

// line writes one line; text for %s must be JSON.
func (g *generator) line(format string, args ...any) {
	if g.err == nil {
		n, err := fmt.Fprintf(g.out, format+"\n", args...)
		g.written += int64(n)
		g.err = err
	}
}

func (g *generator) stamp() string { return g.now.UTC().Format("2006-01-02T15:04:05.000Z") }

func (g *generator) wait(seconds float64) {
	g.now = g.now.Add(time.Duration(float64(time.Second) * seconds * (0.2 + g.ExpFloat64())))
}

func (g *generator) id() string {
	a, b := g.Uint64(), g.Uint64()
	return fmt.Sprintf("%08x-%04x-4%03x-a%03x-%012x", a>>32, a>>16&0xffff, a&0xfff, b>>48&0xfff, b&0xffffffffffff)
}

func (g *generator) word(prefix string) string {
	return fmt.Sprintf("%s%012x%012x", prefix, g.Uint64()>>16, g.Uint64()>>16)
}

func (g *generator) pick(list ...string) string { return list[g.IntN(len(list))] }

// text returns the content of a JSON string of about n bytes.
func (g *generator) text(size int) string {
	var b strings.Builder
	b.Grow(size + 200)
	for at := g.IntN(len(g.pool)); b.Len() < size; at++ {
		b.WriteString(g.pool[at%len(g.pool)])
	}
	return b.String()
}

// spread returns a random size around a median, with a long tail.
func (g *generator) spread(median, most int) int {
	return min(int(float64(median)*math.Exp(1.3*g.NormFloat64())), most)
}

// textPool contains typical output of tools, escaped as JSON strings: code, listings, prose, and text that looks like usage
// records.
func textPool(r *rand.Rand) []string {
	words := strings.Fields("func return if err nil the parser reads every line and keeps what a caller wants while text flows on in small " +
		"pieces import context const type struct string int64 range for go test ok package main assert equal response request model tokens")
	pool := make([]string, 0, 20000)
	for i := range cap(pool) {
		var b strings.Builder
		for range r.IntN(4) {
			b.WriteString(`\t`)
		}
		for range 2 + r.IntN(14) {
			b.WriteString(words[r.IntN(len(words))])
			b.WriteString([]string{" ", " ", " ", ".", "(", ") ", " := ", `\"`, " / ", ": "}[r.IntN(10)])
		}
		switch i % 97 {
		case 1:
			b.WriteString(`{\"type\":\"assistant\",\"message\":{\"id\":\"msg_x\",\"model\":\"claude-opus-4-6\",\"usage\":{\"input_tokens\":999999,\"output_tokens\":999999}}}`)
		case 2:
			b.WriteString(`{\"type\":\"event_msg\",\"payload\":{\"type\":\"token_count\",\"info\":{\"total_token_usage\":{\"input_tokens\":999999}}}}`)
		case 3:
			b.WriteString("größer als früher, 日本語, \\u00e9")
		}
		b.WriteString(`\n`)
		pool = append(pool, b.String())
	}
	return pool
}
