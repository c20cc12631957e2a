//go:build e2e

package e2e

import (
	"fmt"
	"time"
)

// kit is what differs between the agents in a script.
type kit struct {
	name  string
	write func(path, content string) string // a tool call that writes a file
	shell func(command string) string       // a tool call that runs a command
	mcp   func(server, tool, input string) string
	env   []string // for scenarios that fail: fewer retries of the agent's own

	escalate func(path string) string // a tool call that must ask; nil: write

	// What a vendor's program does otherwise than the others, and nothing declares.
	quietThoughts bool // thoughts are shown in a conversation only
	hidesExit     bool // the exit code of a command that printed something is not shown
	cutIsFinal    bool // an answer that is cut off is not asked for again
	lateUsage     bool // usage is stated at the end of a turn only, so a budget is refused
	slowStart     time.Duration
	lateCost      string       // what it states of the price of a resumed session's first turn
	patient       func(l *lab) // takes back the limits on retries that the redirect sets

	model   string       // one that the agent takes besides its default
	givesUp bool         // it has limits of its own on retries, which nothing lifts
	noLogin func(l *lab) // takes away what logs in besides keys and tokens
	warm    func(l *lab) // spares every fresh home what the first start in it takes

	structured    string // the tool that gives structured output; empty: the answer is the output
	thinks        string // the model to name for a thinking effort; empty: the default
	priced        string // the model to name for a budget; empty: the default
	silentRetries bool   // failed requests are tried again for minutes without a sign of it
	cutGoesOn     bool   // an answer that is cut off is gone on with, not asked for again
	overACP       bool   // it is reached over the Agent Client Protocol alone, which shows no model calls
	vague         string // evidence that an error of the model API comes without its status
	terminal      string // evidence that it shows neither output nor exit code of a command
	ownTokens     string // evidence that its tokens are more than those of the turns, or fewer
	blind         string // evidence that an image does not reach its model
	recodes       string // evidence that its model gets an image in another encoding
	garbled       string // evidence that an answer that is none passes for an empty one
	hidden        string // evidence that a command does not know which agent it is inside of
	forgets       string // evidence that a turn that did not end is in no file
	thoughtless   string // evidence that it shows no thoughts
	mixes         string // evidence that of an answer that is asked for again only a part shows
	unsaid        string // evidence that the agent may say nothing about a command that its sandbox stopped
	abandons      string // evidence that a denied permission ends the turn
	revives       string // evidence that its next start goes on with a turn that was killed
	inside        bool   // it is a part of Drawbar: no process of its own can be paused or killed
	drives        string // the agent that it is a bridge to, and that a command is inside of
	asked         string // the model that requests name when model is asked for; empty: model

	slow   bool                    // each of its starts takes so long that it runs what every agent runs only when DRAWBAR_E2E_FULL is set
	shares func(*lab) (end func()) // starts what two runs at once need in one home
}

const unsaidByCodex = "codex may say nothing about a command that its sandbox stopped: it tells its model, and only the tokens of that call show"

var kits = []kit{
	{
		name: "claude",
		write: func(p, c string) string {
			return fmt.Sprintf(`{"name":"Write","input":{"file_path":%s,"content":%s}}`, q(p), q(c))
		},
		shell: func(c string) string {
			return fmt.Sprintf(`{"name":"Bash","input":{"command":%s,"description":"run it"}}`, q(c))
		},
		mcp:        func(s, t, in string) string { return fmt.Sprintf(`{"name":"mcp__%s__%s","input":%s}`, s, t, in) },
		env:        []string{"CLAUDE_CODE_MAX_RETRIES=2"},
		structured: "StructuredOutput",
	},
	{
		name: "codex",
		write: func(p, c string) string {
			return fmt.Sprintf(`{"name":"exec_command","input":{"cmd":%s}}`, q("printf '%s' "+shellQuote(c)+" > "+shellQuote(p)))
		},
		shell: func(c string) string { return fmt.Sprintf(`{"name":"exec_command","input":{"cmd":%s}}`, q(c)) },
		mcp: func(s, t, in string) string {
			return fmt.Sprintf(`{"name":%q,"namespace":"mcp__%s","input":%s}`, t, s, in)
		},
		priced: "gpt-5.4", unsaid: unsaidByCodex,
	},
	{
		name: "qwen",
		write: func(p, c string) string {
			return fmt.Sprintf(`{"name":"write_file","input":{"file_path":%s,"content":%s}}`, q(p), q(c))
		},
		shell: func(c string) string {
			return fmt.Sprintf(`{"name":"run_shell_command","input":{"command":%s,"is_background":false}}`, q(c))
		},
		mcp:   func(s, t, in string) string { return fmt.Sprintf(`{"name":"mcp__%s__%s","input":%s}`, s, t, in) },
		model: "qwen3-coder-plus", thinks: "kimi-k3", structured: "structured_output", priced: "qwen-max", silentRetries: true, cutGoesOn: true,
		slowStart: 12 * time.Second,
	},
	{
		name: "copilot",
		write: func(p, c string) string {
			return fmt.Sprintf(`{"name":"create","input":{"path":%s,"file_text":%s}}`, q(p), q(c))
		},
		shell: func(c string) string {
			return fmt.Sprintf(`{"name":"bash","input":{"command":%s,"description":"run it"}}`, q(c))
		},
		mcp:       func(s, t, in string) string { return fmt.Sprintf(`{"name":"%s-%s","input":%s}`, s, t, in) },
		lateUsage: true, givesUp: true, model: "gpt-5.4", noLogin: copilotWithoutProvider, warm: copilotWarm,
		slowStart: 12 * time.Second,
		escalate: func(p string) string {
			return fmt.Sprintf(`{"name":"bash","input":{"command":%s,"description":"make it"}}`, q("touch "+p))
		},
	},
	{
		name: "gemini",
		write: func(p, c string) string {
			return fmt.Sprintf(`{"name":"write_file","input":{"file_path":%s,"content":%s}}`, q(p), q(c))
		},
		shell: func(c string) string {
			return fmt.Sprintf(`{"name":"run_shell_command","input":{"command":%s,"description":"run it"}}`, q(c))
		},
		mcp: func(s, t, in string) string { return fmt.Sprintf(`{"name":"mcp_%s_%s","input":%s}`, s, t, in) },
		escalate: func(p string) string {
			return fmt.Sprintf(`{"name":"run_shell_command","input":{"command":%s}}`, q("touch "+p))
		},
		quietThoughts: true, hidesExit: true, cutIsFinal: true, lateUsage: true,
		slowStart: 12 * time.Second, patient: geminiPatient,
	},
	{
		name: "pi",
		write: func(p, c string) string {
			return fmt.Sprintf(`{"name":"write","input":{"path":%s,"content":%s}}`, q(p), q(c))
		},
		shell:   func(c string) string { return fmt.Sprintf(`{"name":"bash","input":{"command":%s}}`, q(c)) },
		mcp:     func(s, t, in string) string { return fmt.Sprintf(`{"name":"mcp__%s__%s","input":%s}`, s, t, in) },
		givesUp: true, noLogin: piWithoutProvider, model: "scripted-other", priced: "scripted-model",
	},
	{
		name: "omp",
		write: func(p, c string) string {
			return fmt.Sprintf(`{"name":"write","input":{"path":%s,"content":%s}}`, q(p), q(c))
		},
		shell: func(c string) string { // its shell has programs such as tail built in
			return fmt.Sprintf(`{"name":"bash","input":{"command":%s}}`, q("sh -c "+shellQuote(c)))
		},
		mcp: func(s, t, in string) string { return fmt.Sprintf(`{"name":"mcp__%s_%s","input":%s}`, s, t, in) },
		escalate: func(p string) string {
			return fmt.Sprintf(`{"name":"bash","input":{"command":%s}}`, q("touch "+p))
		},
		overACP: true, silentRetries: true, model: "script/scripted-other", asked: "scripted-other", priced: "script/scripted-model", noLogin: ompWithoutKey,
		recodes: "omp 18.2.3 encodes an image anew for its model",
	},
	{
		name: "droid",
		write: func(p, c string) string {
			return fmt.Sprintf(`{"name":"Create","input":{"file_path":%s,"content":%s}}`, q(p), q(c))
		},
		shell: func(c string) string {
			return fmt.Sprintf(`{"name":"Execute","input":{"command":%s,"summary":"Run the given command","riskLevel":"high","riskLevelReason":"It changes files."}}`, q(c))
		},
		mcp:     func(s, t, in string) string { return fmt.Sprintf(`{"name":"%s___%s","input":%s}`, s, t, in) },
		overACP: true, lateUsage: true, silentRetries: true, model: "custom:Scripted-0", asked: "scripted-model",
		terminal: "droid 0.215.0 shows neither output nor exit code of a command: it names a terminal of its own",
		ownTokens: "it states no tokens over ACP: those of a session's files include the request for a title, those of a run that resumes a session are unknown, " +
			"and no message has any",
	},
	{
		name: "cline",
		write: func(p, c string) string {
			return fmt.Sprintf(`{"name":"editor","input":{"path":%s,"new_text":%s}}`, q(p), q(c))
		},
		shell:   func(c string) string { return fmt.Sprintf(`{"name":"run_commands","input":{"commands":[%s]}}`, q(c)) },
		mcp:     func(s, t, in string) string { return fmt.Sprintf(`{"name":"%s__%s","input":%s}`, s, t, in) },
		overACP: true, lateUsage: true, silentRetries: true, cutGoesOn: true, slowStart: 12 * time.Second, model: "anthropic/claude-sonnet-5",
		blind:    "cline 3.0.65 leaves out an image for a model of which it knows nothing",
		lateCost: "it states no price over ACP; the session's files have it, which drawbar sessions cost reads",
		vague:    "cline 3.0.65 gives the message of an error of the model API without its status, as an internal error",
	},
	{
		name: "goose",
		write: func(p, c string) string {
			return fmt.Sprintf(`{"name":"write","input":{"path":%s,"content":%s}}`, q(p), q(c))
		},
		shell:   func(c string) string { return fmt.Sprintf(`{"name":"shell","input":{"command":%s}}`, q(c)) },
		mcp:     func(s, t, in string) string { return fmt.Sprintf(`{"name":"%s__%s","input":%s}`, s, t, in) },
		overACP: true, lateUsage: true, cutIsFinal: true, silentRetries: true, givesUp: true, model: "gpt-4.1",
		noLogin: gooseWithoutProvider, warm: gooseWithoutLimit,
		blind:   "goose 1.50.0 leaves out an image for a model of which it knows nothing",
		garbled: "goose 1.50.0 takes a stream without an event for an empty answer",
		hidden:  "a shell of goose 1.50.0 has AGENT_SESSION_ID, which other agents set too, and nothing else",
		forgets: "goose 1.50.0 records a call when it has ended",
	},
	{
		name: "claude-agent-acp",
		write: func(p, c string) string {
			return fmt.Sprintf(`{"name":"Write","input":{"file_path":%s,"content":%s}}`, q(p), q(c))
		},
		shell: func(c string) string {
			return fmt.Sprintf(`{"name":"Bash","input":{"command":%s,"description":"run it"}}`, q(c))
		},
		mcp:     func(s, t, in string) string { return fmt.Sprintf(`{"name":"mcp__%s__%s","input":%s}`, s, t, in) },
		overACP: true, lateUsage: true, silentRetries: true, slowStart: 12 * time.Second, drives: "claude", model: "haiku", asked: "claude-haiku-5-5",
		lateCost: "claude-agent-acp 0.101.0 states the price of a session so far: that of a resumed session's first turn is unknown, the session's files have it",
	},
	{
		name: "codex-acp",
		write: func(p, c string) string {
			return fmt.Sprintf(`{"name":"exec_command","input":{"cmd":%s}}`, q("printf '%s' "+shellQuote(c)+" > "+shellQuote(p)))
		},
		shell: func(c string) string { return fmt.Sprintf(`{"name":"exec_command","input":{"cmd":%s}}`, q(c)) },
		mcp: func(s, t, in string) string {
			return fmt.Sprintf(`{"name":%q,"namespace":"mcp__%s","input":%s}`, t, s, in)
		},
		escalate: func(p string) string {
			return fmt.Sprintf(`{"name":"exec_command","input":{"cmd":%s,"sandbox_permissions":"require_escalated","justification":"the test wants it"}}`, q("echo hi > "+p))
		},
		overACP: true, lateUsage: true, silentRetries: true, cutGoesOn: true, givesUp: true, drives: "codex", model: "gpt-6.1-sol[low]", asked: "gpt-6.1-sol", unsaid: unsaidByCodex,
		abandons: "codex-acp 2.6.0 ends the turn as cancelled when a permission is denied",
	},
	{
		name: "opencode",
		write: func(p, c string) string {
			return fmt.Sprintf(`{"name":"write","input":{"filePath":%s,"content":%s}}`, q(p), q(c))
		},
		shell: func(c string) string {
			return fmt.Sprintf(`{"name":"bash","input":{"command":%s,"description":"run it"}}`, q(c))
		},
		mcp:     func(s, t, in string) string { return fmt.Sprintf(`{"name":"%s_%s","input":%s}`, s, t, in) },
		overACP: true, givesUp: true, slowStart: 30 * time.Second, model: "script/scripted-other", asked: "scripted-other", priced: "script/scripted-model",
		noLogin: opencodeWithoutProvider,
		forgets: "opencode 1.18.33 records what a call used when its tools have ended",
	},
	clawKit,
	{
		name: "harness",
		write: func(p, c string) string {
			return fmt.Sprintf(`{"name":"write","input":{"path":%s,"content":%s}}`, q(p), q(c))
		},
		shell: func(c string) string { return fmt.Sprintf(`{"name":"shell","input":{"command":%s}}`, q(c)) },
		mcp: func(s, t, in string) string {
			if s == "drawbar" { // a tool of the caller, which is no server's
				return fmt.Sprintf(`{"name":%q,"input":%s}`, t, in)
			}
			return fmt.Sprintf(`{"name":"mcp__%s__%s","input":%s}`, s, t, in)
		},
		escalate: func(p string) string {
			return fmt.Sprintf(`{"name":"shell","input":{"command":%s}}`, q("echo hi > "+p))
		},
		model: "anthropic/scripted-other", asked: "scripted-other", priced: "anthropic/claude-sonnet-5-5", cutIsFinal: true, givesUp: true, inside: true,
	},
}
