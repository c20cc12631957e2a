// Package alias is the spelling of the protocol's own program, for hands and scripts that know it: commands and flags that are not
// shown in help and completion. Every one is a line of the tables here. It does what our own spelling does, or it is refused by
// its name with what to type instead; none is taken and ignored.
package alias

// Command is a command in the protocol's spelling, below "drawbar govern".
type Command struct {
	Old string // such as "accept-turn", "role show"
	// New are the words that do it; % stands for the one argument of Old. Empty when it is refused, or when the command has a
	// package of its own.
	New string
	// Present says that without the argument the present phase stands for %.
	Present bool
	// Refused says why there is no such command, and Hint what to type instead.
	Refused, Hint string
	// Own says that the spelling differs too much for a line of this table: a command of its own stands behind it.
	Own bool
}

// Commands lists them all.
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
		{Old: "connector check", New: "doctor"}, // with the id of a runtime too
		{Old: "connector validate", New: "doctor"},
		{Old: "verify protocol", Own: true},
		{Old: "conformance check", Own: true},
		{Old: "replay turn", Own: true},

		{Old: "connector capabilities", Refused: "what an agent can do is told by the agent's own command", Hint: "drawbar agents matrix"},
		{Old: "proposal", Refused: "commands for proposals are not built yet", Hint: "give the role write_authority authoritative, and a runtime that may write"},
		{Old: "intake handoff", Refused: "a run governs one repository, and no coordinator takes intents over", Hint: "drawbar govern intake start --intent ID"},
		{Old: "migrate-intents", Refused: "intents that belong to no run are archived when a run begins", Hint: "drawbar govern intake status"},
		{Old: "multi", Refused: "a run governs one repository", Hint: "drawbar govern --cwd DIR step"},
		{Old: "mission", Refused: "runs are not chained into missions", Hint: "drawbar govern restart"},
		{Old: "chain", Refused: "runs are not chained", Hint: "drawbar govern restart && drawbar govern run"},
		{Old: "schedule", Refused: "runs are not scheduled", Hint: "drawbar govern run, from cron or a timer"},
		{Old: "reconcile-state", Refused: "commits of people are taken into the record by the next turn, without a command", Hint: "drawbar govern step"},
		{Old: "restore", Refused: "the record is in no commit: git ignores .agentxchain", Hint: "put .agentxchain back from a backup, then drawbar govern verify"},
		{Old: "dashboard", Refused: "there is no dashboard", Hint: "drawbar govern events -f"},
		{Old: "plugin", Refused: "governed runs have hooks and no plugins", Hint: "drawbar govern config get hooks"},
		{Old: "replay export", Refused: "there is no dashboard to look at an export with", Hint: "drawbar govern verify export FILE"},
		{Old: "workflow-kit", Refused: "the artifacts of a phase stand in the configuration", Hint: "drawbar govern config get workflow_kit, drawbar govern gates"},
		{Old: "serve-mcp", Refused: "no MCP server is offered for governed runs", Hint: "drawbar govern status"},
		{Old: "ship-status", Refused: "what stands before the end is told by the gates", Hint: "drawbar govern gates, drawbar govern report"},
		{Old: "ci-report", Refused: "a report is a page, and verify has an exit code", Hint: "drawbar govern verify, drawbar govern report"},
		{Old: "benchmark", Refused: "there is no benchmark", Hint: "drawbar demo"},
		{Old: "generate", Refused: "a project is made by init", Hint: "drawbar govern init --help"},
		{Old: "watch", Refused: "that is of generation 3", Hint: "drawbar govern events -f"},
		{Old: "supervise", Refused: "that is of generation 3", Hint: "drawbar govern run"},
		{Old: "start", Refused: "that is of generation 3", Hint: "drawbar govern run"},
		{Old: "stop", Refused: "that is of generation 3", Hint: "Ctrl-C in the terminal of drawbar govern run, or drawbar govern escalate --reason TEXT"},
		{Old: "kickoff", Refused: "that is of generation 3", Hint: "drawbar govern step"},
		{Old: "claim", Refused: "turns are assigned by the rules", Hint: "drawbar govern step"},
		{Old: "release", Refused: "turns are assigned by the rules", Hint: "drawbar govern reject, drawbar govern reissue"},
		{Old: "rebind", Refused: "a turn takes the runtime of its role when it is made ready", Hint: "drawbar govern config set roles.ROLE.runtime RUNTIME, then drawbar govern reissue"},
		{Old: "demo", Refused: "the demonstration is not part of a project", Hint: "drawbar demo"},
	}
}

// Flag is a flag in the protocol's spelling.
type Flag struct {
	Command string // of ours that has it, such as "turn show"; empty is every command
	Name    string
	Short   string
	Value   bool // it takes a value
	// Means says that it is what always happens, and how; Only are the values for which that is so.
	Means string
	Only  []string
	// Same names the flag of ours that it sets.
	Same string
	// Against is a flag of ours that says the contrary.
	Against string
	// Refused says why there is no such thing, and Hint what to type instead.
	Refused, Hint string
	// Own says that the command itself has it, hidden.
	Own bool
}

// Flags lists them all.
func Flags() []Flag {
	return []Flag{
		{Name: "j", Short: "j", Same: "json"},

		{Command: "init", Name: "governed", Means: "every project of drawbar govern is a governed one"},
		{Command: "init", Name: "schema-version", Value: true, Means: "the configuration is of schema 1.0", Only: []string{"1.0", "4"}},

		{Command: "init", Name: "dev-command", Value: true, Own: true, Means: "the words behind it, up to the next flag, belong to it"},

		{Command: "config", Name: "get", Value: true, Own: true, Means: "drawbar govern config get KEY"},
		{Command: "config", Name: "set", Value: true, Own: true, Means: "drawbar govern config set KEY VALUE"},
		{Command: "config", Name: "add-agent", Refused: "roles and runtimes are set by their keys", Hint: "drawbar govern config set roles.ID '{...}'"},
		{Command: "config", Name: "remove-agent", Value: true, Refused: "roles and runtimes are set by their keys", Hint: "edit agentxchain.json, then: drawbar govern validate"},

		{Command: "validate", Name: "mode", Value: true, Own: true, Means: "full is what always happens; turn checks the staged results of active turns"},
		{Command: "validate", Name: "agent", Value: true, Refused: "turns are checked when they are accepted", Hint: "drawbar govern turn show"},

		{Command: "step", Name: "poll", Value: true, Own: true, Means: "so many seconds between two looks for a person's result"},
		{Command: "step", Name: "auto-reject", Means: "a result that is not valid goes back to the agent", Against: "no-repair"},
		{Command: "step", Name: "stream", Same: "verbose"},
		{Command: "step", Name: "no-checkpoint", Refused: "the commit belongs to the acceptance", Hint: "drawbar govern step --no-repair, then look, then drawbar govern accept"},

		{Command: "run", Name: "stream", Same: "verbose"},
		{Command: "run", Name: "auto-checkpoint", Means: "every accepted turn is committed"},
		{Command: "run", Name: "no-auto-checkpoint", Refused: "the commit belongs to the acceptance", Hint: "drawbar govern step --no-repair, then look, then drawbar govern accept"},
		{Command: "run", Name: "no-report", Means: "no report is written"},
		{Command: "run", Name: "role", Value: true, Refused: "the rules choose the roles of a run", Hint: "drawbar govern step --role ROLE && drawbar govern run"},
		{Command: "run", Name: "continue-from", Value: true, Refused: "a run is followed by a new one without taking over from it", Hint: "drawbar govern restart && drawbar govern run"},
		{Command: "run", Name: "recover-from", Value: true, Refused: "a blocked run is taken up, or followed by a new one", Hint: "drawbar govern run --resume, drawbar govern restart --new"},
		{Command: "run", Name: "inherit-context", Refused: "what outlives a run is its decisions of durability repo", Hint: "drawbar govern decisions --repo"},
		{Command: "run", Name: "chain", Refused: "runs are not chained", Hint: "drawbar govern run && drawbar govern restart && drawbar govern run"},
		{Command: "run", Name: "continuous", Refused: "a run ends when its last gate passes", Hint: "drawbar govern run, from cron or a timer"},
		{Command: "run", Name: "mission", Value: true, Refused: "runs are not chained into missions", Hint: "drawbar govern restart"},
		{Command: "run", Name: "vision", Value: true, Refused: "the goal stands in the configuration", Hint: "drawbar govern config set project.goal TEXT"},

		{Command: "restart", Name: "role", Value: true, Refused: "the role is chosen with the turn", Hint: "drawbar govern restart && drawbar govern step --role ROLE"},

		{Command: "accept", Name: "resolution", Value: true, Own: true, Means: "standard is what happens without it"},
		{Command: "accept", Name: "checkpoint", Means: "every accepted turn is committed"},
		{Command: "accept", Name: "normalize-staged-result", Means: "every result is normalized, and each change is listed"},

		{Command: "gates", Name: "evaluate", Means: "gates are always held against the files as they are now"},

		{Command: "history", Name: "lineage", Value: true, Refused: "no run takes over from another", Hint: "drawbar govern history --runs"},
		{Command: "turn show", Name: "artifact", Value: true, Own: true, Means: "the file of that kind: assignment, prompt, context or manifest"},

		{Command: "intake plan", Name: "force", Refused: "it replaces no file", Hint: "move the file away, then: drawbar govern intake plan --intent ID"},
		{Command: "intake approve", Name: "force-scope", Refused: "intents of the same scope do not hold each other up", Hint: "drawbar govern intake approve --intent ID"},

		{Command: "status", Name: "all", Short: "a", Means: "everything that waits is shown"},
		{Command: "status", Name: "dir", Short: "d", Same: "cwd"},
		{Command: "history", Name: "dir", Short: "d", Same: "cwd"},
		{Command: "events", Name: "dir", Short: "d", Same: "cwd"},
		{Command: "decisions", Name: "dir", Short: "d", Same: "cwd"},
		{Command: "diff", Name: "dir", Short: "d", Same: "cwd"},
		{Command: "export", Name: "dir", Same: "cwd"},

		{Command: "export", Name: "format", Value: true, Means: "an export is JSON", Only: []string{"json"}},
	}
}
