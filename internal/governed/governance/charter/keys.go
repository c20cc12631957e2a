package charter

import (
	"sync"

	"github.com/drawbar/drawbar/govern/protocol"
	"github.com/drawbar/drawbar/internal/base/shape"
)

// Short names keep the table readable.
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
	n := object("agentxchain.json: what a governed project is, who works in it, and by which rules",
		key("$schema", str("address of this schema, for editors")),
		key("schema_version", raw(`"1.0"; the number 4 means the same`)),
		key("template", str("the template that the project was made from").Def("generic")),
		must("project", object("what is governed",
			must("id", str("short name of the project")),
			must("name", str("name of the project")),
			key("goal", shape.Node{Kind: shape.String, Doc: "what the project is for; every turn's context has it", MaxLen: 500, Null: true}),
			key("default_branch", str("branch that work ends on").Def("main")),
		)),
		must("roles", table("who takes turns, by role id", rolePattern, roleNode())),
		key("runtimes", table("how roles are carried out, by runtime id", "", runtimeNode())),
		key("routing", table("the phases, in the order they stand here (absent: planning, implementation, qa)", phasePattern, phaseNode())),
		key("gates", table("what must hold before a phase ends, by gate id", "", gateNode())),
		key("hooks", hooksNode()),
		key("notifications", notificationsNode()),
		key("schedules", table("runs that start by themselves; checked, but nothing starts them yet", rolePattern, scheduleNode())),
		key("budget", budgetNode().OrNull()),
		key("policies", list("limits that turns are held to", policyNode())),
		key("approval_policy", approvalNode().OrNull()),
		key("timeouts", object("limits of time; a limit that is not given does not hold",
			key("per_turn_minutes", minutes("limit of one turn in minutes")),
			key("per_phase_minutes", minutes("limit of one phase in minutes")),
			key("per_run_minutes", minutes("limit of the whole run in minutes")),
			key("action", one("what happens when a limit is reached", "escalate", "warn").Def("escalate")),
		).OrNull()),
		key("workflow_kit", kitNode().OrNull()),
		key("retention", raw("how records are kept: always appended to")),
		key("rules", object("rules of every run",
			key("challenge_required", flag("reviewers must raise at least one objection").Def(true)),
			key("max_turn_retries", whole("attempts a turn has in total", 1).Def(2)),
			key("max_deadlock_cycles", whole("kept for other tools", 0).Def(2)),
		)),
		key("prompts", table("the prompt file of each role, relative to the project (absent: .agentxchain/prompts/<role>.md)", rolePattern, str("path of a Markdown file"))),
		key("files", raw("kept for other tools")),
		key("run_loop", runLoopNode()),
		key("mission_planner", raw("kept for other tools")),
		key("workspace", one("Drawbar's own: where turns work: in the project itself, or each in a git worktree of its own that is merged on acceptance",
			"shared", "worktree").Def("shared")),
		key("adapters", table("custom adapters of the first edition, by name", "", raw("a module"))),
		key("intent_coverage_mode", one("whether a result has to cover every item of its intent (absent: strict for p0)", "strict", "lenient")),
		key("gate_semantic_coverage_mode", str("strict, or anything else for off; kept for other tools").Def("strict")),
	)
	return &n
}

func roleNode() shape.Node {
	return object("a role; one with adapter is a role of the first edition and has its settings in itself",
		key("title", str("what the role is called")),
		key("mandate", str("what the role is for")),
		key("write_authority", one("what the role may write", authorities()...)),
		key("runtime", str("id of the runtime that carries the role out")),
		key("decision_authority", within("weight when decisions are overridden; a person has 100 (absent: not compared)", 0, 99).OrNull()),
		key("declared_file_scope", strs("paths the role means to touch; overlaps are warned about")),
		key("adapter", str("first edition: manual, local_cli, api_proxy, or a name in adapters")),
		key("adapter_config", raw("first edition: the settings of the adapter")),
	)
}

func phaseNode() shape.Node {
	return object("a phase",
		key("entry_role", str("the role that begins the phase")),
		key("allowed_next_roles", strs("roles that may take turns in it, or human (absent or empty: any role)")),
		key("exit_gate", str("the gate that ends it (absent: none)")),
		key("max_concurrent_turns", within("turns at the same time", 1, 4).Def(1)),
		key("timeout_minutes", minutes("limit of this phase in minutes (absent: per_phase_minutes of timeouts)")),
		key("timeout_action", one("what happens then (absent: action of timeouts)", "escalate", "warn", "skip_phase")),
	)
}

func gateNode() shape.Node {
	return object("a gate",
		key("requires_files", strs("files that must be there and say what their rules ask for")),
		key("requires_verification_pass", flag("the last turn's checks must have passed")),
		key("requires_human_approval", flag("a person must agree")),
		key("credentialed", flag("never approved without a person")),
		key("approvers", strs("Drawbar's own: names or emails, as git knows people, of those who may approve or decline (absent: anybody)")),
		key("min_approvals", within("Drawbar's own: how many people have to approve", 1, 20).Def(1)),
		key("gate_actions", shape.Node{Kind: shape.List, Doc: "shell lines that run when a person approves", MinItems: 1, Of: ptr(object("a shell line",
			must("run", str("the line, for /bin/sh")),
			key("label", str("what to call it")),
			key("timeout_ms", within("limit in milliseconds", 1000, 3600000).Def(900000)),
		))}),
	)
}

func ptr(n shape.Node) *shape.Node { return &n }

func hooksNode() shape.Node {
	hook := object("a program or an address that is asked at this moment",
		must("name", named("unique in its phase", rolePattern)),
		must("type", one("how it is asked", "process", "http")),
		key("command", strs("process: the program and its arguments")),
		key("url", str("http: the address; the event is posted to it")),
		key("method", one("http: how it is asked", "POST")),
		key("headers", texts("http: request headers; ${VAR} is taken from env or the environment")),
		must("timeout_ms", within("limit in milliseconds", 100, 30000)),
		must("mode", one("whether its answer can stop the run", "blocking", "advisory")),
		key("env", texts("process: variables of the program; http: values for headers")),
	)
	n := closed("what runs beside a turn")
	for _, phase := range protocol.HookPhases() {
		n.Keys = append(n.Keys, key(phase, shape.Node{Kind: shape.List, Doc: "at most eight hooks", MaxItems: 8, Of: ptr(hook)}))
	}
	return n
}

func budgetNode() shape.Node {
	return object("what a run may cost, in US dollars",
		key("per_turn_max_usd", dollars("limit of one turn; reserved when a turn is assigned (absent: none)")),
		key("per_run_max_usd", dollars("limit of the run (absent: none)")),
		key("on_exceed", one("what happens when it is spent", "pause_and_escalate", "warn").Def("pause_and_escalate")),
		key("cost_rates", table("prices by model, for turns whose runtime counts tokens and states no price", "", object("US dollars per million tokens",
			key("input_per_1m", shape.AtLeast("price of input; 0 while it is not set", 0)),
			key("output_per_1m", shape.AtLeast("price of output; 0 while it is not set", 0)),
		))),
	)
}

func policyNode() shape.Node {
	return object("a limit",
		must("id", named("unique name of the policy", phasePattern)),
		must("rule", one("what is limited", policyRules()...)),
		must("action", one("what happens when it does not hold", "block", "warn", "escalate")),
		key("params", raw("limit, limit_usd or allowed, as the rule wants")),
		key("scope", object("where it holds (absent: everywhere)",
			key("phases", strs("phases where it holds (absent: all)")),
			key("roles", strs("roles for which it holds (absent: all)")),
		)),
		key("message", str("what to say when it does not hold")),
	)
}

func policyRules() []string {
	return []string{"max_turns_per_phase", "max_total_turns", "max_consecutive_same_role", "max_cost_per_turn", "require_status",
		"require_reproducible_verification"}
}

func approvalNode() shape.Node {
	actions := func() shape.Node { return one("what happens", "auto_approve", "require_human") }
	when := func() shape.Node {
		return object("conditions; one that does not hold means that a person is asked",
			key("gate_passed", flag("the gate's other conditions hold")),
			key("roles_participated", strs("roles with an accepted turn in this phase")),
			key("all_phases_visited", flag("every phase has been entered")),
			key("credentialed_gate", flag("only false: credentialed gates always ask")),
		)
	}
	return object("which gates that ask for a person may pass without one",
		key("phase_transitions", object("ends of phases (absent: a person decides)",
			key("default", actions()),
			key("rules", list("the first that matches counts", object("a rule",
				key("from_phase", str("phase that ends (absent: any)")),
				key("to_phase", str("phase that begins (absent: any)")),
				must("action", actions()),
				key("when", when()),
			))),
		)),
		key("run_completion", object("the end of the run (absent: a person decides)",
			key("action", actions()),
			key("when", when()),
		)),
	)
}

func kitNode() shape.Node {
	return object("the files that phases bring; {} opts out of the default ones",
		key("phases", table("by phase", phasePattern, object("the kit of a phase",
			key("template", one("a known set of artifacts (absent: none)", KitTemplates()...)),
			key("artifacts", list("files; one of a template is replaced by its path", object("a file",
				must("path", str("path relative to the project")),
				key("semantics", one("the rule its content is held to (absent: none of its own)", Semantics()...).OrNull()),
				key("semantics_config", object("settings of section_check",
					key("required_sections", shape.Node{Kind: shape.List, Doc: "headers that must be there with text", MinItems: 1, Of: ptr(str("a header"))}),
				)),
				key("owned_by", named("the role that must have taken a turn for it (absent: any)", rolePattern).OrNull()),
				key("required", flag("the gate needs it").Def(true)),
			))),
		))),
	)
}

func runLoopNode() shape.Node {
	return object("settings of a run of many turns",
		key("startup_watchdog_ms", whole("an agent that says nothing for so many milliseconds has not started", 1).Def(180000)),
		key("startup_heartbeat_ms", whole("how often a start that takes long is noted, in milliseconds", 1).Def(30000)),
		key("liveness_heartbeat_ms", whole("how often progress is noted, in milliseconds", 1).Def(60000)),
		key("stale_turn_threshold_ms", whole("a turn without progress for so many milliseconds has stalled (absent: 600000)", 1)),
		key("max_turns", whole("turns before a run stops by itself", 1).Def(50)),
		key("non_progress_threshold", whole("accepted turns with the same failing gate before a run stops", 1).Def(3)),
		key("continuous", raw("kept for other tools")),
	)
}

func notificationsNode() shape.Node {
	return closed("webhooks, approval reminders and local notices; checked, but nobody is notified yet",
		key("webhooks", shape.Node{Kind: shape.List, Doc: "at most eight", MaxItems: 8, Of: ptr(closed("an address",
			must("name", str("its name")),
			must("url", str("http or https")),
			must("events", shape.Node{Kind: shape.List, Doc: "what is told", MinItems: 1, Of: ptr(one("an event", "run_blocked", "operator_escalation_raised",
				"escalation_resolved", "human_escalation_raised", "human_escalation_resolved", "phase_transition_pending",
				"run_completion_pending", "run_completed", "approval_sla_reminder"))}),
			key("timeout_ms", within("limit in milliseconds", 100, 30000)),
			key("headers", texts("headers")),
			key("env", texts("variables for headers")),
		))}),
		key("approval_sla", closed("reminders of approvals that wait",
			key("enabled", flag("whether they are sent")),
			key("reminder_after_seconds", shape.Node{Kind: shape.List, Doc: "ascending", MaxItems: 10, Of: ptr(whole("seconds", 300))}),
		)),
		key("local", raw("notifications on this machine")),
	)
}

func scheduleNode() shape.Node {
	return object("a schedule",
		must("every_minutes", whole("how often", 1)),
		key("enabled", flag("whether it holds").Def(true)),
		key("auto_approve", flag("gates pass without a person").Def(true)),
		key("max_turns", whole("turns of a run", 1).Def(50)),
		key("initial_role", str("the role that begins")),
		key("trigger_reason", str("what is noted as reason")),
		key("continuous", raw("kept for other tools")),
	)
}
