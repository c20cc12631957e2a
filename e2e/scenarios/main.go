// Command scenarios makes the table of scenarios of the verbose output of the end-to-end tests: which agent passes, which
// does not declare what is needed, and what is a vendor's defect, with its evidence. With -agent it compares the output with a
// table, with -into it puts the results into one; with -package it prints the npm package of an agent and the release that is tested.
package main

import (
	"bufio"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"unicode"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "scenarios:", err)
		os.Exit(1)
	}
}

func run() error {
	var d drift
	pkg := flag.String("package", "", "print the package of an `AGENT` and its tested release; all for the names of all agents")
	flag.StringVar(&d.Agent, "agent", "", "compare the output of this `AGENT`'s tests with a table")
	flag.StringVar(&d.Version, "version", "", "the `RELEASE` that was run")
	flag.StringVar(&d.Error, "error", "", "why it was not run")
	against := flag.String("against", "docs/SCENARIOS.md", "the table")
	reported := flag.String("conformance", "", "write the conformance of every adapter: of a `FOLDER` with the reports of drawbar conform, and of the output of go test -json")
	into := flag.String("into", "", "keep the other cells of this `TABLE`, for the output of some scenarios")
	asJSON := flag.Bool("json", false, "write JSON")
	flag.Parse()
	versions, err := readVersions(flag.Args())
	switch {
	case err != nil:
		return err
	case *pkg == "all":
		fmt.Println(strings.Join(slices.Sorted(maps.Keys(programs)), "\n"))
		return nil
	case *pkg != "":
		if programs[*pkg] == "" {
			return fmt.Errorf("%q is not an agent that is tested: %s", *pkg, strings.Join(slices.Sorted(maps.Keys(programs)), ", "))
		}
		fmt.Println(programs[*pkg], versions[*pkg])
		return nil
	case d.Agent != "":
		d.Tested = versions[d.Agent]
		written, err := os.Open(*against)
		if err != nil {
			return err
		}
		defer written.Close()
		return report(d, os.Stdin, written, *asJSON, os.Stdout)
	case *reported != "":
		return conformance(*reported, os.Stdin, os.Stdout, versions)
	}
	table, err := read(os.Stdin)
	if err != nil {
		return err
	}
	if *into != "" {
		file, err := os.Open(*into)
		if err != nil {
			return err
		}
		defer file.Close()
		if err := table.over(file, versions); err != nil {
			return fmt.Errorf("%s: %w", *into, err)
		}
	}
	return table.write(os.Stdout, versions)
}

// programs are the npm packages of the agents.
var programs = map[string]string{"claude": "@anthropic-ai/claude-code", "codex": "@openai/codex", "copilot": "@github/copilot",
	"gemini": "@google/gemini-cli", "qwen": "@qwen-code/qwen-code", "opencode": "opencode-ai", "goose": "@aaif/goose-acp",
	"pi": "@earendil-works/pi-coding-agent", "omp": "@oh-my-pi/pi-coding-agent", "droid": "droid", "cline": "cline", "openclaw": "openclaw",
	"claude-agent-acp": "@agentclientprotocol/claude-agent-acp", "codex-acp": "@agentclientprotocol/codex-acp"}

// isAgent reports whether tests of this name are those of an agent: one with a program, or the one that is a part of Drawbar.
func isAgent(name string) bool { return programs[name] != "" || name == "harness" }

// readVersions reads which release of each agent was run, from package.json.
func readVersions(args []string) (map[string]string, error) {
	if len(args) != 1 {
		return nil, fmt.Errorf("want the package.json of the programs as the one argument")
	}
	data, err := os.ReadFile(args[0])
	if err != nil {
		return nil, err
	}
	var file struct {
		Dependencies map[string]string `json:"dependencies"`
	}
	if err := json.Unmarshal(data, &file); err != nil {
		return nil, fmt.Errorf("%s: %w", args[0], err)
	}
	versions := map[string]string{}
	for agent, pkg := range programs {
		versions[agent] = file.Dependencies[pkg]
	}
	return versions, nil
}

// cell is one scenario of one agent.
type cell struct {
	state string // passes, passes in part, unsupported, defect, skipped, FAILED
	ended bool
	notes []string
	said  string // the last line that the test printed
}

const (
	failed  = "FAILED"
	unended = "DID NOT END"
)

// text is the state of a test, also of one that hung.
func (c *cell) text() string {
	if !c.ended {
		return unended
	}
	return c.state
}

type table struct {
	scenarios []string // their names in words, in the order in which the tests begin, before those that run in parallel go on
	agents    map[string]bool
	cells     map[string]map[string]*cell
}

func newTable() *table {
	return &table{agents: map[string]bool{}, cells: map[string]map[string]*cell{}}
}

var (
	note    = regexp.MustCompile(`scenario (unsupported|defect|partly): (.*)`)
	printed = regexp.MustCompile(`^\s+\w+\.go:\d+: (.*)`)
	states  = map[string]string{"unsupported": "unsupported", "defect": "defect", "partly": "passes in part"}
	ranks   = []string{"", "passes", "passes in part", "unsupported", "defect", "skipped", failed}
	result  = regexp.MustCompile(`^\s*--- (PASS|FAIL|SKIP): (Test\w+)/([\w-]+) `)
	begin   = regexp.MustCompile(`^=== (?:RUN|CONT|NAME)\s+(Test\w+)(?:/([\w-]+))?`)
)

func read(r io.Reader) (*table, error) {
	t := newTable()
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, 64<<20)
	var now *cell
	for lines.Scan() {
		line := lines.Text()
		if m := begin.FindStringSubmatch(line); m != nil {
			now = nil
			if s := words(m[1]); !slices.Contains(t.scenarios, s) {
				t.scenarios = append(t.scenarios, s)
			}
			if isAgent(m[2]) {
				now = t.cell(words(m[1]), m[2])
			}
			continue
		}
		if m := result.FindStringSubmatch(line); m != nil && isAgent(m[3]) {
			c := t.cell(words(m[2]), m[3])
			c.ended = true
			c.becomes(map[string]string{"FAIL": failed, "SKIP": "skipped", "PASS": "passes"}[m[1]])
			continue
		}
		if m := printed.FindStringSubmatch(line); m != nil && now != nil {
			now.said = m[1]
		}
		if m := note.FindStringSubmatch(line); m != nil && now != nil {
			now.becomes(states[m[1]])
			if text := strings.TrimSpace(m[2]); !slices.Contains(now.notes, text) {
				now.notes = append(now.notes, text)
			}
		}
	}
	if err := lines.Err(); err != nil {
		return nil, err
	}
	t.scenarios = slices.DeleteFunc(t.scenarios, func(s string) bool { return t.cells[s] == nil })
	if len(t.scenarios) == 0 {
		return nil, fmt.Errorf("the input has no results: it is to be the output of e2e/run -test.v")
	}
	return t, nil
}

// becomes gives the cell a state unless what it has says more.
func (c *cell) becomes(state string) {
	if slices.Index(ranks, state) > slices.Index(ranks, c.state) {
		c.state = state
	}
}

func (t *table) cell(scenario, agent string) *cell {
	t.agents[agent] = true
	if t.cells[scenario] == nil {
		t.cells[scenario] = map[string]*cell{}
	}
	if t.cells[scenario][agent] == nil {
		t.cells[scenario][agent] = &cell{}
	}
	return t.cells[scenario][agent]
}

func (t *table) write(w io.Writer, versions map[string]string) error {
	agents := slices.Sorted(maps.Keys(t.agents))
	b := &strings.Builder{}
	fmt.Fprint(b, "# Scenarios with the real programs\n\nGenerated by `e2e/table`, which runs every scenario of the end-to-end tests with the installed "+
		"programs against a scripted\nmodel server, in a network namespace with nothing but loopback.\n\n"+
		"*unsupported*: the agent does not declare it, and a request for it is refused before anything starts. *passes in part*: the same holds\nfor a part of the "+
		"scenario, or the agent does it in its own way. *defect*: the vendor's program does something wrong, and the\ntest shows what Drawbar makes of it. "+
		"*-*: the scenario is about other agents, or this one does not run it. The notes below give what was seen.\n\n")
	fmt.Fprint(b, "| scenario |")
	for _, a := range agents {
		fmt.Fprintf(b, " %s |", strings.TrimSpace(a+" "+versions[a]))
	}
	fmt.Fprintf(b, "\n|---|%s\n", strings.Repeat("---|", len(agents)))
	var notes []string
	counts := map[string]map[string]int{}
	for _, s := range t.scenarios {
		fmt.Fprintf(b, "| %s |", s)
		for _, a := range agents {
			c := t.cells[s][a]
			if c == nil {
				c = &cell{state: "-", ended: true}
			}
			text := c.text()
			if counts[text] == nil {
				counts[text] = map[string]int{}
			}
			counts[text][a]++
			for _, n := range c.notes {
				at := a + ": " + n
				i := slices.Index(notes, at)
				if i < 0 {
					i, notes = len(notes), append(notes, at)
				}
				text += fmt.Sprintf(" [%d]", i+1)
			}
			fmt.Fprintf(b, " %s |", text)
		}
		fmt.Fprintln(b)
	}
	for _, state := range slices.Sorted(maps.Keys(counts)) {
		if state == "-" {
			continue
		}
		fmt.Fprintf(b, "| *in all: %s* |", state)
		for _, a := range agents {
			fmt.Fprintf(b, " %d |", counts[state][a])
		}
		fmt.Fprintln(b)
	}
	if len(notes) > 0 {
		fmt.Fprint(b, "\nNotes:\n\n")
		for i, e := range notes {
			fmt.Fprintf(b, "%d. %s\n", i+1, e)
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// words makes "resume fork and unknown session" of TestResumeForkAndUnknownSession. Abbreviations stay in capitals.
func words(test string) string {
	name := []rune(strings.TrimPrefix(test, "Test"))
	var list []string
	from := 0
	for i := 1; i <= len(name); i++ {
		if i < len(name) && !(unicode.IsUpper(name[i]) && (unicode.IsLower(name[i-1]) || i+1 < len(name) && unicode.IsLower(name[i+1]))) {
			continue
		}
		word := string(name[from:i])
		if i-from < 2 || unicode.IsLower(name[from+1]) {
			word = strings.ToLower(word)
		}
		list, from = append(list, word), i
	}
	return strings.Join(list, " ")
}
