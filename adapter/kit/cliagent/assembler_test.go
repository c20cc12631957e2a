package cliagent

import (
	"strings"
	"testing"
)

func TestAssemblerLineMode(t *testing.T) {
	t.Parallel()
	var a StreamAssembler
	for _, line := range []string{"a", "", "b"} {
		if unit, ok := a.Feed(line); !ok || unit != line {
			t.Errorf("Feed(%q) = %q, %v", line, unit, ok)
		}
	}
	if a.InBlock() || a.BufferedLineCount() != 0 || a.Peek() != "" {
		t.Errorf("line mode: in block %v, %d lines, peek %q", a.InBlock(), a.BufferedLineCount(), a.Peek())
	}
	if unit, ok := a.EndBlock(); ok || unit != "" {
		t.Errorf("EndBlock in line mode = %q, %v", unit, ok)
	}
}

func TestAssemblerBlockMode(t *testing.T) {
	t.Parallel()
	var a StreamAssembler
	var seen []string
	a.StartBlock(func(line, accumulated string) bool {
		seen = append(seen, line+"<"+accumulated+">")
		return line == "}"
	})
	for i, line := range []string{"{", "", "  x"} {
		if unit, ok := a.Feed(line); ok {
			t.Fatalf("Feed(%q) = %q", line, unit)
		}
		if !a.InBlock() || a.BufferedLineCount() != i+1 {
			t.Errorf("after %q: in block %v, %d lines", line, a.InBlock(), a.BufferedLineCount())
		}
	}
	if got := a.Peek(); got != "{\n\n  x" {
		t.Errorf("Peek = %q", got)
	}
	unit, ok := a.Feed("}")
	if !ok || unit != "{\n\n  x\n}" {
		t.Errorf("Feed = %q, %v", unit, ok)
	}
	if want := "{<{>|<{\n>|  x<{\n\n  x>|}<{\n\n  x\n}>"; strings.Join(seen, "|") != want {
		t.Errorf("the terminator saw %q, want %q", strings.Join(seen, "|"), want)
	}
	if a.InBlock() || a.BufferedLineCount() != 0 || a.Peek() != "" {
		t.Error("a complete block leaves block mode on")
	}
	if unit, ok := a.Feed("next"); !ok || unit != "next" {
		t.Errorf("Feed after the block = %q, %v", unit, ok)
	}
}

func TestAssemblerEndBlock(t *testing.T) {
	t.Parallel()
	var a StreamAssembler
	never := func(string, string) bool { return false }
	a.StartBlock(never)
	if unit, ok := a.EndBlock(); !ok || unit != "" {
		t.Errorf("EndBlock of an empty block = %q, %v", unit, ok)
	}
	a.StartBlock(never)
	a.Feed("a")
	a.StartBlock(func(line, _ string) bool { return line == "c" })
	a.Feed("b")
	if unit, ok := a.Feed("c"); !ok || unit != "a\nb\nc" {
		t.Errorf("a new terminator lost the open block: %q, %v", unit, ok)
	}
	a.StartBlock(never)
	a.Feed("x")
	a.Feed("y")
	if unit, ok := a.EndBlock(); !ok || unit != "x\ny" {
		t.Errorf("EndBlock = %q, %v", unit, ok)
	}
}

func TestAssemblerReset(t *testing.T) {
	t.Parallel()
	var a StreamAssembler
	a.StartBlock(func(string, string) bool { return false })
	a.Feed("x")
	a.Reset()
	if a.InBlock() || a.BufferedLineCount() != 0 || a.Peek() != "" {
		t.Error("Reset left something behind")
	}
	if unit, ok := a.Feed("y"); !ok || unit != "y" {
		t.Errorf("Feed after Reset = %q, %v", unit, ok)
	}
}

// A unit stays what it was when the assembler goes on.
func TestAssemblerUnitsAreTheCallers(t *testing.T) {
	t.Parallel()
	var a StreamAssembler
	var units []string
	for range 3 {
		a.StartBlock(func(line, _ string) bool { return line == "end" })
		a.Feed(strings.Repeat("z", 100*(len(units)+1)))
		unit, _ := a.Feed("end")
		units = append(units, unit)
	}
	for i, u := range units {
		if u != strings.Repeat("z", 100*(i+1))+"\nend" {
			t.Errorf("unit %d changed to %q", i, u)
		}
	}
}

func BenchmarkAssemblerBlock(b *testing.B) {
	line := strings.Repeat("x", 80)
	for b.Loop() {
		var a StreamAssembler
		a.StartBlock(func(line, accumulated string) bool { return line == "" && strings.HasSuffix(accumulated, "x\n") })
		for range 10000 {
			a.Feed(line)
		}
		if _, ok := a.Feed(""); !ok {
			b.Fatal("the block did not end")
		}
	}
}
