package main

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

// governedConfig is the project of the command "project": a developer and a reviewer that are governed-agent, and a person. The
// first phase ends by itself, the second with a person's approval.
const governedConfig = `{
  "schema_version": "1.0",
  "project": {"id": "tale", "name": "Tale"},
  "roles": {
    "dev": {"title": "Developer", "mandate": "Build it.", "write_authority": "authoritative", "runtime": "worker"},
    "qa": {"title": "QA", "mandate": "Doubt it.", "write_authority": "review_only", "runtime": "reviewer"},
    "pm": {"title": "Product", "mandate": "Want it.", "write_authority": "review_only", "runtime": "person"}
  },
  "runtimes": {
    "worker": {"type": "local_cli", "command": ["governed-agent"]},
    "reviewer": {"type": "local_cli", "command": ["governed-agent"]},
    "person": {"type": "manual"}
  },
  "routing": {
    "build": {"entry_role": "dev", "allowed_next_roles": ["dev", "qa", "pm", "human"], "exit_gate": "built"},
    "review": {"entry_role": "qa", "allowed_next_roles": ["dev", "qa", "pm", "human"], "exit_gate": "shipped"}
  },
  "gates": {"built": {}, "shipped": {"requires_human_approval": true}},
  "workflow_kit": {},
  "budget": {"per_turn_max_usd": 2, "per_run_max_usd": 10}
}
`

// project is "project DIR [CONFIG]": it makes a git repository with a governed project in it, of CONFIG or of governedConfig.
func project(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 1 || len(args) > 2 {
		ts.Fatalf("usage: project DIR [CONFIG]")
	}
	dir := ts.MkAbs(args[0])
	config := governedConfig
	if len(args) == 2 {
		config = ts.ReadFile(args[1])
	}
	ts.Check(os.MkdirAll(dir, 0o700))
	ts.Check(os.WriteFile(filepath.Join(dir, "agentxchain.json"), []byte(config), 0o600))
	ts.Check(os.WriteFile(filepath.Join(dir, ".gitignore"), []byte(".agentxchain/\nTALK.md\nHUMAN_TASKS.md\n"), 0o600))
	for _, line := range []string{"init -q -b main", "config user.name Tester", "config user.email tester@example.com", "config commit.gpgsign false", "add -A", "commit -q -m start"} {
		cmd := exec.Command("git", strings.Fields(line)...)
		cmd.Dir, cmd.Env = dir, append(os.Environ(), "HOME="+ts.Getenv("HOME"))
		if out, err := cmd.CombinedOutput(); err != nil {
			ts.Fatalf("git %s: %v\n%s", line, err, out)
		}
	}
	// What a script writes itself it trusts itself; a configuration that is not valid runs nothing.
	if err := ts.Exec("drawbar", "trust", "--yes", dir); len(args) == 1 {
		ts.Check(err)
	}
}

// turns is "turns LINE...": what governed-agent does in its next turns, one argument each.
func turns(ts *testscript.TestScript, neg bool, args []string) {
	if neg {
		ts.Fatalf("usage: turns LINE...")
	}
	ts.Check(os.WriteFile(filepath.Join(ts.Getenv("HOME"), "turns"), []byte(strings.Join(args, "\n")), 0o600))
}

// keep is "keep NAME PATTERN-LESS-KEY": it takes the value of a key of the last command's JSON answer into a variable, such as
// "keep TURN data.turn_id".
func keep(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: keep VARIABLE KEY")
	}
	var v any
	ts.Check(json.Unmarshal([]byte(ts.ReadFile("stdout")), &v))
	for key := range strings.SplitSeq(args[1], ".") {
		switch in := v.(type) {
		case map[string]any:
			v = in[key]
		case []any:
			i, err := strconv.Atoi(key)
			ts.Check(err)
			if i < 0 {
				i += len(in)
			}
			if i < 0 || i >= len(in) {
				ts.Fatalf("%s: there are %d", args[1], len(in))
			}
			v = in[i]
		}
	}
	if v == nil {
		ts.Fatalf("the answer has no %s:\n%s", args[1], ts.ReadFile("stdout"))
	}
	ts.Setenv(args[0], fmt.Sprint(v))
}

// until is "until PATTERN COMMAND [ARG...]": it runs a command again and again until its output matches.
func until(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: until PATTERN COMMAND [ARG...]")
	}
	pattern := regexp.MustCompile(args[0])
	for begun := time.Now(); time.Since(begun) < 20*time.Second; time.Sleep(20 * time.Millisecond) {
		if ts.Exec(args[1], args[2:]...) == nil && pattern.MatchString(ts.ReadFile("stdout")) {
			return
		}
	}
	ts.Fatalf("%s never came", args[0])
}

// playGoverned is an agent of a governed run. It reads its bundle and leaves a result; the first line of $HOME/turns says how, and
// is taken away. Words of a line: say=TEXT err=TEXT sleep=TIME sh=SCRIPT write=FILE file=FILE empty status=STATUS next=ROLE phase=PHASE complete
// cost=USD object decide=TEXT (or the id of a decision) verify=STATUS exit=CODE (nothing is staged), break (the result lacks its decisions' rationale).
func playGoverned() {
	if err := governedTurn(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(3)
	}
}

func governedTurn() error {
	var a struct {
		RunID   string `json:"run_id"`
		TurnID  string `json:"turn_id"`
		Role    string `json:"role"`
		Runtime string `json:"runtime_id"`
		Write   string `json:"write_authority"`
	}
	b, err := os.ReadFile(filepath.Join(os.Getenv("AGENTXCHAIN_DISPATCH_DIR"), "ASSIGNMENT.json"))
	if err != nil {
		return err
	}
	if err := json.Unmarshal(b, &a); err != nil {
		return err
	}
	list := filepath.Join(os.Getenv("HOME"), "turns")
	text, _ := os.ReadFile(list) // none is a plain turn
	line, rest, _ := strings.Cut(string(text), "\n")
	if err := os.WriteFile(list, []byte(rest), 0o600); err != nil {
		return err
	}
	result := map[string]any{
		"schema_version": "1.0", "run_id": a.RunID, "turn_id": a.TurnID, "role": a.Role, "runtime_id": a.Runtime, "status": "completed",
		"summary": a.Role + " did it", "proposed_next_role": "qa", "phase_transition_request": nil, "run_completion_request": false,
		"verification": map[string]any{"status": "pass", "commands": []string{"true"}, "evidence_summary": "true", "machine_evidence": []any{map[string]any{"command": "true", "exit_code": 0}}},
	}
	var files []string
	decisions, objections := []any{}, []any{}
	if a.Write == "review_only" {
		objections = append(objections, map[string]any{"id": "OBJ-001", "severity": "low", "statement": "it could be better", "against_turn_id": ""})
		result["artifact"] = map[string]any{"type": "review", "ref": nil}
	} else {
		result["artifact"] = map[string]any{"type": "workspace", "ref": nil}
		files = append(files, "work-"+a.TurnID+".txt")
	}
	for word := range strings.FieldsSeq(line) {
		key, value, _ := strings.Cut(word, "=")
		switch key {
		case "empty":
			files = nil
		case "say":
			fmt.Println(value)
		case "err":
			fmt.Fprintln(os.Stderr, value)
		case "sleep":
			d, err := time.ParseDuration(value)
			if err != nil {
				return err
			}
			time.Sleep(d)
		case "sh":
			if out, err := exec.Command("sh", value).CombinedOutput(); err != nil {
				return fmt.Errorf("%w: %s", err, out)
			}
		case "write":
			if err := os.WriteFile(value, []byte(a.TurnID), 0o600); err != nil {
				return err
			}
		case "file":
			files = []string{value}
		case "status":
			result["status"] = value
			result["needs_human_reason"] = "a person must see it"
		case "next":
			result["proposed_next_role"] = value
		case "phase":
			result["phase_transition_request"] = value
		case "complete":
			result["run_completion_request"] = true
		case "cost":
			usd, err := strconv.ParseFloat(value, 64)
			if err != nil {
				return err
			}
			result["cost"] = map[string]any{"usd": usd, "input_tokens": 10, "output_tokens": 5}
		case "decide":
			id := "DEC-001"
			if strings.HasPrefix(value, "DEC-") {
				id = value
			}
			decisions = append(decisions, map[string]any{"id": id, "category": "scope", "statement": value, "rationale": "because", "durability": "repo"})
		case "verify":
			result["verification"].(map[string]any)["status"] = value
		case "break":
			result["turn_id"], result["status"] = "turn_of_another", "whatever"
		case "exit":
			code, err := strconv.Atoi(value)
			if err != nil {
				return err
			}
			os.Exit(code)
		}
	}
	for _, f := range files {
		if err := os.WriteFile(f, []byte(a.TurnID), 0o600); err != nil {
			return err
		}
	}
	if files == nil {
		files = []string{}
	}
	result["files_changed"], result["decisions"], result["objections"] = files, decisions, objections
	out, err := json.Marshal(result)
	if err != nil {
		return err
	}
	return os.WriteFile(os.Getenv("AGENTXCHAIN_STAGING_PATH"), out, 0o600)
}
