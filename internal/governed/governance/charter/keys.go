package charter

import (
	"sync"

	"github.com/drawbar/drawbar/govern/protocol"
	"github.com/drawbar/drawbar/internal/base/shape"
)

// Abbreviations keep the table readable.
var (
	str, one, named, flag, whole, within = shape.Text, shape.One, shape.Named, shape.Flag, shape.Whole, shape.Within
	raw, list, table, object, closed     = shape.Raw, shape.ListOf, shape.MapOf, shape.ObjectOf, shape.ClosedOf
	key, must                            = shape.Opt, shape.Must
)

func words(doc string) shape.Node   { return shape.Node{Kind: shape.Words, Doc: doc} }
func dollars(doc string) shape.Node { return shape.Above(doc, 0) }
func minutes(doc string) shape.Node { return shape.AtLeast(doc, 1) }
func strs(doc string) shape.Node    { return list(doc, str("")) }
func texts(doc string) shape.Node   { return table(doc, "", str("").AnyText()) }

const (
	rolePattern  = `^[a-z0-9_-]+$`
	phasePattern = `^[a-z][a-z0-9_-]*$`
	agentPattern = `^[a-z0-9][a-z0-9._-]*$`
)

// Keys is the table of agentxchain.json. It is shared and must not be changed.
func Keys() *shape.Node { return keyTable() }

var keyTable = sync.OnceValue(newTable)

func newTable() *shape.Node {
	n := object("agentxchain.json: a governed project, its roles and its rules",
		key("$schema", str("URL of this schema, for editors")),
		key("schema_version", raw(`"1.0"; the number 4 means the same`)),
		key("template", str("template that the project was created from").Def("generic")),
		must("project", object("the governed project",
			must("id", str("short name of the project")),
			must("name", str("name of the project")),
			key("goal", shape.Node{Kind: shape.String, Doc: "what the project is for; part of every turn's context", MaxLen: 500, Null: true}),
			key("default_branch", str("branch that receives the work").Def("main")),
		)),
		must("roles", table("roles that take turns, by role id", rolePattern, roleNode())),
		key("runtimes", table("how roles are performed, by runtime id", "", runtimeNode())),
		key("routing", table("phases, in this order (absent: planning, implementation, qa)", phasePattern, phaseNode())),
		key("gates", table("conditions for the end of a phase, by gate id", "", gateNode())),
		key("hooks", hooksNode(protocol.HookPhases())),
		key("notifications", notificationsNode()),
		key("schedules", table("runs that start by themselves while drawbar govern schedule daemon runs", rolePattern, scheduleNode())),
		key("budget", budgetNode().OrNull()),
		key("policies", list("limits for turns", policyNode())),
		key("approval_policy", approvalNode().OrNull()),
		key("timeouts", object("time limits (absent: none)",
			key("per_turn_minutes", minutes("limit of one turn in minutes")),
			key("per_phase_minutes", minutes("limit of one phase in minutes")),
			key("per_run_minutes", minutes("limit of the whole run in minutes")),
			key("action", one("action when a limit is reached", "escalate", "warn").Def("escalate")),
		).OrNull()),
		key("workflow_kit", kitNode().OrNull()),
		key("retention", raw("how records are written: append only")),
		key("rules", object("rules of every run",
			key("challenge_required", flag("whether reviewers must raise at least one objection").Def(true)),
			key("max_turn_retries", whole("total attempts per turn", 1).Def(2)),
			key("max_deadlock_cycles", whole("accepted and ignored; other tools read it", 0).Def(2)),
		)),
		key("prompts", table("prompt file of each role, relative to the project (absent: .agentxchain/prompts/<role>.md)", rolePattern, str("path of a Markdown file"))),
		key("files", raw("accepted and ignored; other tools read it")),
		key("run_loop", runLoopNode()),
		key("mission_planner", raw("accepted and ignored; other tools read it")),
		key("workspace", one("Drawbar only: where turns work: in the project itself, or each in its own git worktree that is merged on acceptance",
			"shared", "worktree").Def("shared")),
		key("checkpoint", closed("Drawbar only: settings of the commits of accepted turns",
			key("sign", flag("whether they are signed (absent: if commit.gpgsign is set in git)")),
			key("hooks", one("whether git's pre-commit hook checks the files of a turn before it is accepted", protocol.CommitHooksRun, protocol.CommitHooksSkip).Def(protocol.CommitHooksSkip)),
		)),
		key("anchor", list("Drawbar only: command that runs after each decision, with the head of the record's hash chain in DRAWBAR_CHAIN_HEAD", str(""))),
		key("record", one("Drawbar only: where the record is stored: on this machine, or in a ref of a git remote that clones share",
			protocol.RecordLocal, protocol.RecordBranch).Def(protocol.RecordLocal)),
		key("record_remote", str("Drawbar only: git remote of a shared record").Def("origin")),
		key("record_refs", str("Drawbar only: prefix of the refs of a shared record; refs/heads/... for hosts that accept only branches").Def("refs/drawbar/runs/")),
		key("adapters", table("custom adapters, by name: a role's adapter or a runtime's type names one", "", customNode())),
		key("intent_coverage_mode", one("whether a result must cover every item of its intent (absent: strict for p0)", "strict", "lenient")),
		key("gate_semantic_coverage_mode", str("strict, or anything else for off; ignored, other tools read it").Def("strict")),
	)
	return &n
}

func roleNode() shape.Node {
	return object("a role; one with adapter belongs to the first edition and contains its own settings",
		key("title", str("name of the role")),
		key("mandate", str("purpose of the role")),
		key("write_authority", one("what the role may write", authorities()...)),
		key("runtime", str("id of the role's runtime")),
		key("decision_authority", within("authority to override decisions; a person has 100 (absent: not compared)", 0, 99).OrNull()),
		key("declared_file_scope", strs("paths that the role is expected to change; overlaps produce a warning")),
		key("adapter", str("first edition: manual, local_cli, api_proxy, or a name in adapters")),
		key("adapter_config", raw("first edition: settings of the adapter")),
	)
}

func phaseNode() shape.Node {
	return object("a phase",
		key("entry_role", str("role of the first turn")),
		key("allowed_next_roles", strs("roles that may take turns, or human (absent or empty: any role)")),
		key("exit_gate", str("gate at the end of the phase (absent: none)")),
		key("max_concurrent_turns", within("maximum number of concurrent turns; above 1, each turn has a worktree", 1, 4).Def(1)),
		key("timeout_minutes", minutes("limit of this phase in minutes (absent: per_phase_minutes of timeouts)")),
		key("timeout_action", one("action when the limit is reached (absent: action of timeouts)", "escalate", "warn", "skip_phase")),
	)
}

func gateNode() shape.Node {
	return object("a gate",
		key("requires_files", strs("files that must exist and satisfy their content rules")),
		key("requires_verification_pass", flag("whether the last turn's checks must have passed")),
		key("requires_human_approval", flag("whether a person must approve")),
		key("credentialed", flag("whether only a person can approve")),
		key("approvers", strs("Drawbar only: git names or emails of the people who may approve or decline (absent: anyone)")),
		key("min_approvals", within("Drawbar only: number of people who must approve", 1, 20).Def(1)),
		key("gate_actions", shape.Node{Kind: shape.List, Doc: "shell commands that run when a person approves", MinItems: 1, Of: new(object("a shell command",
			must("run", str("the command line, run by /bin/sh")),
			key("label", str("display name")),
			key("timeout_ms", within("time limit in milliseconds", 1000, 3600000).Def(900000)),
		))}),
	)
}

func hooksNode(phases []string) shape.Node {
	hook := object("a program or URL that is called in this phase",
		must("name", named("name, unique in its phase", rolePattern)),
		must("type", one("kind of hook", "process", "http")),
		key("command", strs("process: program and arguments")),
		key("url", str("http: URL that the event is posted to")),
		key("method", one("http: request method", "POST")),
		key("headers", texts("http: request headers; ${VAR} is replaced from env or the environment")),
		must("timeout_ms", within("time limit in milliseconds", 100, 30000)),
		must("mode", one("whether a denial stops the run", "blocking", "advisory")),
		key("env", texts("process: environment variables; http: values for headers")),
	)
	n := closed("hooks, by phase of a turn")
	for _, phase := range phases {
		n.Keys = append(n.Keys, key(phase, shape.Node{Kind: shape.List, Doc: "up to eight hooks", MaxItems: 8, Of: new(hook)}))
	}
	return n
}

func budgetNode() shape.Node {
	return object("budget of a run in US dollars",
		key("per_turn_max_usd", dollars("limit of one turn; reserved when a turn is assigned (absent: none)")),
		key("per_run_max_usd", dollars("limit of the run (absent: none)")),
		key("on_exceed", one("action when the budget is used up", "pause_and_escalate", "warn").Def("pause_and_escalate")),
		key("cost_rates", table("prices by model, for runtimes that report tokens without a price", "", object("US dollars per million tokens",
			key("input_per_1m", shape.AtLeast("price of input tokens; 0 means not set", 0)),
			key("output_per_1m", shape.AtLeast("price of output tokens; 0 means not set", 0)),
		))),
	)
}

func policyNode() shape.Node {
	return object("a limit",
		must("id", named("unique id of the policy", phasePattern)),
		must("rule", one("rule to apply", policyRules()...)),
		must("action", one("action when the rule is violated", "block", "warn", "escalate")),
		key("params", raw("limit, limit_usd or allowed, depending on the rule")),
		key("scope", object("where the policy applies (absent: everywhere)",
			key("phases", strs("phases to which it applies (absent: all)")),
			key("roles", strs("roles to which it applies (absent: all)")),
		)),
		key("message", str("message when the rule is violated")),
	)
}

func policyRules() []string {
	return []string{"max_turns_per_phase", "max_total_turns", "max_consecutive_same_role", "max_cost_per_turn", "require_status",
		"require_reproducible_verification"}
}

func approvalNode() shape.Node {
	actions := func() shape.Node { return one("what happens", "auto_approve", "require_human") }
	when := func() shape.Node {
		return object("conditions; a person is asked unless all hold",
			key("gate_passed", flag("whether the gate's other conditions must hold")),
			key("roles_participated", strs("roles that must have an accepted turn in this phase")),
			key("all_phases_visited", flag("whether every phase must have been entered")),
			key("credentialed_gate", flag("always false: a credentialed gate always requires a person")),
		)
	}
	return object("gates that may pass without the person whom they require",
		key("phase_transitions", object("gates between phases (absent: a person decides)",
			key("default", actions()),
			key("rules", list("rules; the first match applies", object("a rule",
				key("from_phase", str("phase that ends (absent: any)")),
				key("to_phase", str("phase that begins (absent: any)")),
				must("action", actions()),
				key("when", when()),
			))),
		)),
		key("run_completion", object("gate at the end of the run (absent: a person decides)",
			key("action", actions()),
			key("when", when()),
		)),
	)
}

func kitNode() shape.Node {
	return object("files that phases produce; {} disables the defaults",
		key("phases", table("by phase", phasePattern, object("files of one phase",
			key("template", one("a known set of artifacts (absent: none)", KitTemplates()...)),
			key("artifacts", list("further files; one with the path of a template's file replaces it", object("a file",
				must("path", str("path relative to the project")),
				key("semantics", one("content rule (absent: implied by the path, or none)", Semantics()...).OrNull()),
				key("semantics_config", object("settings of section_check",
					key("required_sections", shape.Node{Kind: shape.List, Doc: "headings that must exist and have content", MinItems: 1, Of: new(str("a header"))}),
				)),
				key("owned_by", named("role that must have taken a turn in the phase (absent: any)", rolePattern).OrNull()),
				key("required", flag("whether the gate requires the file").Def(true)),
			))),
		))),
	)
}

func runLoopNode() shape.Node {
	return object("settings of a run of many turns",
		key("startup_watchdog_ms", whole("milliseconds without output after which an agent counts as not started", 1).Def(180000)),
		key("startup_heartbeat_ms", whole("interval of notes about a slow start, in milliseconds", 1).Def(30000)),
		key("liveness_heartbeat_ms", whole("interval of progress notes, in milliseconds", 1).Def(60000)),
		key("stale_turn_threshold_ms", whole("milliseconds without progress after which a turn has stalled (absent: 600000)", 1)),
		key("max_turns", whole("turns after which a run stops", 1).Def(50)),
		key("non_progress_threshold", whole("accepted turns with the same failing gate after which a run stops", 1).Def(3)),
		key("continuous", object("how a run continues by itself; other keys are accepted and ignored",
			key("auto_retry_on_ghost", closed("whether govern run replaces a turn whose worker gave no sign of life",
				key("enabled", flag("whether it does").Def(false)),
				key("max_retries_per_run", whole("replaced turns of a run", 1).Def(3)),
				key("cooldown_seconds", whole("seconds before each", 0).Def(5)),
			)),
		)),
	)
}

func notificationsNode() shape.Node {
	return closed("webhooks that are told what happens in a run, and reminders of approvals",
		key("webhooks", shape.Node{Kind: shape.List, Doc: "up to eight webhooks", MaxItems: 8, Of: new(closed("an address",
			must("name", str("its name")),
			must("url", str("http or https")),
			must("events", shape.Node{Kind: shape.List, Doc: "reported events", MinItems: 1, Of: new(one("an event", "run_blocked", "operator_escalation_raised",
				"escalation_resolved", "human_escalation_raised", "human_escalation_resolved", "phase_transition_pending",
				"run_completion_pending", "run_completed", "approval_sla_reminder", "budget_exceeded_warn"))}),
			key("timeout_ms", within("time limit in milliseconds", 100, 30000)),
			key("headers", texts("headers")),
			key("env", texts("variables for headers")),
		))}),
		key("approval_sla", closed("reminders of pending approvals",
			key("enabled", flag("whether they are sent")),
			key("reminder_after_seconds", shape.Node{Kind: shape.List, Doc: "ascending", MaxItems: 10, Of: new(whole("seconds", 300))}),
		)),
		key("local", raw("notifications on this machine; accepted and ignored: see drawbar config set notify")),
	)
}

func scheduleNode() shape.Node {
	return object("a schedule",
		must("every_minutes", whole("how often", 1)),
		key("enabled", flag("whether it is enabled").Def(true)),
		key("auto_approve", flag("whether gates pass without a person").Def(true)),
		key("max_turns", whole("maximum number of turns of a run", 1).Def(50)),
		key("initial_role", str("role of the first turn")),
		key("trigger_reason", str("reason to record")),
		key("continuous", raw("accepted and ignored; other tools read it")),
	)
}
