package codex

import (
	"encoding/json"
	"testing"

	"github.com/drawbar/drawbar/adapter/kit/cliagent"
	"github.com/drawbar/drawbar/adapter/kit/cliagent/clitest"
	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/transport/process"
)

func newRequest() execution.Request { return clitest.Request() }

func wantsAnswer(r *execution.Request) {
	r.Run.OutputSchema = json.RawMessage(`{"type":"object","properties":{"answer":{"type":"integer"}},"required":["answer"],"additionalProperties":false}`)
}

var failed = process.Exit{Code: 1}

var execCases = map[string]clitest.Run{
	"plain": {}, "multi": {}, "shell": {}, "mcp": {}, "mcp_flatname": {}, "err429_then_ok": {}, "err500_then_ok": {}, "deny_never": {},
	"write_file_patch_custom": {}, "builtin_noauth": {}, "shell_sandbox_readonly": {}, "shell_sandbox_workspace": {}, "cut": {},
	"subagent": {}, "web_search": {},
	"schema":                   {Request: wantsAnswer},
	"schema_no_json":           {Request: wantsAnswer},
	"err429_forever":           {Exit: failed},
	"malformed":                {Exit: failed},
	"noauth":                   {Exit: failed},
	"session_5_resume_unknown": {Exit: failed},
	"nongit_refused":           {Exit: failed},
	"tool_sigint":              {Exit: failed},
	"hang_sigint":              {Exit: process.Exit{Code: 1, Stopped: true}},
	"e401":                     {Exit: failed},
	"e500":                     {Exit: failed},
	"e400":                     {Exit: failed},
	"e404":                     {Exit: failed},
	"context":                  {Exit: failed},
	"usage_limit":              {Exit: failed},
	"quota":                    {Exit: failed},
	"bad_config":               {Exit: failed},
	"bad_sandbox":              {Exit: failed},
	"bad_flag":                 {Exit: process.Exit{Code: 2}},
	"bad_approval":             {Exit: failed},
	"untrusted":                {Exit: failed},
	"bad_provider":             {Exit: failed},
	"no_home":                  {Exit: failed},
	"no_schema_file":           {Exit: failed},
	"no_instructions_file":     {Exit: failed},
}

// TestExecGoldens replays recorded runs of codex exec.
func TestExecGoldens(t *testing.T) { execGoldens.Test(t) }

// TestDamagedRuns replays them with one line lost or twice, and cut off.
func TestDamagedRuns(t *testing.T) {
	execGoldens.TestDamaged(t, clitest.Damage{Success: clitest.Has(`"turn.completed"`), Usage: clitest.Has(`"usage"`), Text: clitest.Has(`"text"`)})
}

// TestDifferential holds what is made of mutated recordings.
func TestDifferential(t *testing.T) { execGoldens.TestDifferential(t) }

var execGoldens = clitest.Goldens{
	Pattern: "testdata/exec/*.jsonl", Least: 10, Runs: execCases, Listed: true, Check: check,
	Replay: func(_ *testing.T, r clitest.Recording) ([]execution.Event, execution.Result) {
		return cliagent.Replay(newExecParser(r.Request), r.Stdout, r.Stderr, r.Exit, false)
	},
}

func check(t *testing.T, events []execution.Event, res execution.Result) {
	t.Helper()
	clitest.CheckOrder(t, events)
	clitest.CheckUsage(t, events, res)
	for _, e := range events {
		if _, ok := e.Body.(execution.CostEvent); ok {
			t.Error("a price that codex did not state")
		}
	}
}
