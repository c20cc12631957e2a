// Package alias defines AgentXchain's spelling of commands and flags, for users and scripts that know it; help and
// completion do not show it. The tables map each alias to our own spelling, or refuse it with an alternative; none is
// accepted and ignored.
package alias

// Command is a command in AgentXchain's spelling, below "drawbar govern".
type Command struct {
	Old string // such as "accept-turn", "role show"
	// New are the words of our command; % stands for the argument of Old. Empty if Old is refused, or has its own
	// package.
	New string
	// Present says that the current phase replaces a missing argument.
	Present bool
	// Refused says why there is no such command, and Hint what to type instead.
	Refused, Hint string
	// Own says that the command has its own implementation, because its spelling differs too much for this table.
	Own bool
}

// Commands lists all of them.
func Commands() []Command {
	return []Command{
		{Old: "accept-turn", New: "accept"},
		{Old: "reject-turn", New: "reject"},
		{Old: "reissue-turn", New: "reissue"},
		{Old: "checkpoint-turn", New: "checkpoint"},
		{Old: "approve-transition", New: "approve phase"},
		{Old: "approve-completion", New: "approve completion"},
		{Old: "attention", New: "status"},
		{Old: "role list", New: "config get roles"},
		{Old: "role show", New: "config get roles.%"},
		{Old: "role validate", New: "validate"},
		{Old: "phase list", New: "config get routing"},
		{Old: "phase show", New: "config get routing.%", Present: true},
		{Old: "gate list", New: "gates"},
		{Old: "gate show", New: "gates %"},
		{Old: "connector check", New: "doctor"}, // also with the id of a runtime
		{Old: "connector validate", New: "doctor"},
		{Old: "verify protocol", Own: true},
		{Old: "conformance check", Own: true},
		{Old: "replay turn", Own: true},

		{Old: "connector capabilities", Refused: "use drawbar agents matrix to see capabilities", Hint: "drawbar agents matrix"},
		{Old: "migrate-intents", Refused: "intents that belong to no run are archived when a run starts", Hint: "drawbar govern intake status"},
		{Old: "mission", Refused: "runs are not chained into missions", Hint: "drawbar govern restart"},
		{Old: "chain", Refused: "runs are not chained", Hint: "drawbar govern restart && drawbar govern run"},
		{Old: "reconcile-state", Refused: "the next turn records people's commits automatically", Hint: "drawbar govern step"},
		{Old: "restore", Refused: "use import for an export, and sync for a shared record", Hint: "drawbar govern import FILE, drawbar govern sync"},
		{Old: "dashboard", Refused: "there is no dashboard", Hint: "drawbar govern events -f"},
		{Old: "plugin", Refused: "governed runs have hooks and no plugins", Hint: "drawbar govern config get hooks"},
		{Old: "replay export", Refused: "there is no dashboard for exports", Hint: "drawbar govern verify export FILE"},
		{Old: "workflow-kit", Refused: "the configuration lists the artifacts of each phase", Hint: "drawbar govern config get workflow_kit, drawbar govern gates"},
		{Old: "serve-mcp", Refused: "there is no MCP server for governed runs", Hint: "drawbar govern status"},
		{Old: "ship-status", Refused: "the gates show what is left to do", Hint: "drawbar govern gates, drawbar govern report"},
		{Old: "ci-report", Refused: "use the report and the exit code of verify", Hint: "drawbar govern verify, drawbar govern report"},
		{Old: "benchmark", Refused: "there is no benchmark", Hint: "drawbar demo"},
		{Old: "generate", Refused: "init creates a project", Hint: "drawbar govern init --help"},
		{Old: "watch", Refused: "this is a generation 3 command", Hint: "drawbar govern events -f"},
		{Old: "supervise", Refused: "this is a generation 3 command", Hint: "drawbar govern run"},
		{Old: "start", Refused: "this is a generation 3 command", Hint: "drawbar govern run"},
		{Old: "stop", Refused: "this is a generation 3 command", Hint: "Ctrl-C in the terminal of drawbar govern run, or drawbar govern escalate --reason TEXT"},
		{Old: "kickoff", Refused: "this is a generation 3 command", Hint: "drawbar govern step"},
		{Old: "serve", Refused: "governed runs have no server", Hint: "drawbar govern sync, drawbar govern notify"},
		{Old: "branch", Refused: "this is a generation 3 command", Hint: "drawbar govern status"},
		{Old: "update", Refused: "a program is updated as it was installed", Hint: "drawbar version"},
		{Old: "claim", Refused: "turns are assigned by the rules", Hint: "drawbar govern step"},
		{Old: "release", Refused: "turns are assigned by the rules", Hint: "drawbar govern reject, drawbar govern reissue"},
		{Old: "rebind", Refused: "a turn uses the runtime that its role has when the turn is prepared", Hint: "drawbar govern config set roles.ROLE.runtime RUNTIME, then drawbar govern reissue"},
		{Old: "demo", Refused: "the demo is not part of a project", Hint: "drawbar demo"},
	}
}

// Flag is a flag in AgentXchain's spelling.
type Flag struct {
	Command string // of ours that has it, such as "turn show"; empty is every command
	Name    string
	Short   string
	Value   bool // it takes a value
	// Means says that it describes what always happens; Only are the values for which that holds.
	Means string
	Only  []string
	// Same names the equivalent flag of ours.
	Same string
	// Against is a flag of ours with the opposite meaning.
	Against string
	// Refused says why there is no such flag, and Hint what to type instead.
	Refused, Hint string
	// Own says that the command itself defines it, hidden.
	Own bool
}

// Flags lists all of them.
func Flags() []Flag {
	return []Flag{
		{Name: "j", Short: "j", Same: "json"},

		{Command: "init", Name: "governed", Means: "drawbar govern projects are always governed"},
		{Command: "init", Name: "schema-version", Value: true, Means: "the configuration uses schema 1.0", Only: []string{"1.0", "4"}},

		{Command: "init", Name: "dev-command", Value: true, Own: true, Means: "takes the words after it, up to the next flag"},

		{Command: "config", Name: "get", Value: true, Own: true, Means: "drawbar govern config get KEY"},
		{Command: "config", Name: "set", Value: true, Own: true, Means: "drawbar govern config set KEY VALUE"},
		{Command: "config", Name: "add-agent", Refused: "roles and runtimes are set by their keys", Hint: "drawbar govern config set roles.ID '{...}'"},
		{Command: "config", Name: "remove-agent", Value: true, Refused: "roles and runtimes are set by their keys", Hint: "edit agentxchain.json, then: drawbar govern validate"},

		{Command: "validate", Name: "mode", Value: true, Own: true, Means: "full is the default; turn checks the staged results of active turns"},
		{Command: "validate", Name: "agent", Value: true, Refused: "turns are checked when they are accepted", Hint: "drawbar govern turn show"},

		{Command: "step", Name: "poll", Value: true, Own: true, Means: "seconds between two checks for a person's result"},
		{Command: "step", Name: "auto-reject", Means: "an invalid result is returned to the agent", Against: "no-repair"},
		{Command: "step", Name: "stream", Same: "verbose"},
		{Command: "step", Name: "no-checkpoint", Refused: "accepting a turn always commits", Hint: "drawbar govern step --no-repair, then review, then drawbar govern accept"},

		{Command: "run", Name: "stream", Same: "verbose"},
		{Command: "run", Name: "auto-checkpoint", Means: "every accepted turn is committed"},
		{Command: "run", Name: "no-auto-checkpoint", Refused: "accepting a turn always commits", Hint: "drawbar govern step --no-repair, then review, then drawbar govern accept"},
		{Command: "run", Name: "no-auto-retry-on-ghost", Own: true, Means: "drawbar govern run --auto-retry-on-ghost=false"},
		{Command: "run", Name: "auto-retry-on-ghost-max-retries", Value: true, Refused: "the configuration limits the retries",
			Hint: "drawbar govern config set run_loop.continuous.auto_retry_on_ghost.max_retries_per_run 3"},
		{Command: "run", Name: "auto-retry-on-ghost-cooldown-seconds", Value: true, Refused: "the configuration sets the pause before a retry",
			Hint: "drawbar govern config set run_loop.continuous.auto_retry_on_ghost.cooldown_seconds 5"},
		{Command: "run", Name: "no-report", Means: "no report is written"},
		{Command: "run", Name: "role", Value: true, Refused: "the rules choose the roles of a run", Hint: "drawbar govern step --role ROLE && drawbar govern run"},
		{Command: "run", Name: "continue-from", Value: true, Refused: "a new run does not inherit from the one before", Hint: "drawbar govern restart && drawbar govern run"},
		{Command: "run", Name: "recover-from", Value: true, Refused: "a blocked run is resumed, or followed by a new one", Hint: "drawbar govern run --resume, drawbar govern restart --new"},
		{Command: "run", Name: "inherit-context", Refused: "only decisions of durability repo outlive a run", Hint: "drawbar govern decisions --repo"},
		{Command: "run", Name: "chain", Refused: "runs are not chained", Hint: "drawbar govern run && drawbar govern restart && drawbar govern run"},
		{Command: "run", Name: "continuous", Refused: "a run ends when its last gate passes", Hint: "drawbar govern run, from cron or a timer"},
		{Command: "run", Name: "mission", Value: true, Refused: "runs are not chained into missions", Hint: "drawbar govern restart"},
		{Command: "run", Name: "vision", Value: true, Refused: "the configuration contains the goal", Hint: "drawbar govern config set project.goal TEXT"},

		{Command: "restart", Name: "role", Value: true, Refused: "the role is chosen together with the turn", Hint: "drawbar govern restart && drawbar govern step --role ROLE"},

		{Command: "accept", Name: "resolution", Value: true, Own: true, Means: "standard is the default"},
		{Command: "accept", Name: "checkpoint", Means: "every accepted turn is committed"},
		{Command: "accept", Name: "normalize-staged-result", Means: "every result is normalized, and each change is listed"},

		{Command: "gates", Name: "evaluate", Means: "gates are always evaluated against the current files"},

		{Command: "history", Name: "lineage", Value: true, Refused: "runs do not inherit from each other", Hint: "drawbar govern history --runs"},
		{Command: "turn show", Name: "artifact", Value: true, Own: true, Means: "the file of that kind: assignment, prompt, context or manifest"},

		{Command: "intake plan", Name: "force", Refused: "existing files are never replaced", Hint: "move the file away, then: drawbar govern intake plan --intent ID"},
		{Command: "intake approve", Name: "force-scope", Refused: "intents of the same scope do not block each other", Hint: "drawbar govern intake approve --intent ID"},

		{Command: "status", Name: "all", Short: "a", Means: "everything that is waiting is shown"},
		{Command: "status", Name: "dir", Short: "d", Same: "cwd"},
		{Command: "history", Name: "dir", Short: "d", Same: "cwd"},
		{Command: "events", Name: "dir", Short: "d", Same: "cwd"},
		{Command: "decisions", Name: "dir", Short: "d", Same: "cwd"},
		{Command: "diff", Name: "dir", Short: "d", Same: "cwd"},
		{Command: "export", Name: "dir", Same: "cwd"},

		{Command: "export", Name: "format", Value: true, Means: "exports are always JSON", Only: []string{"json"}},
	}
}
