package project

import (
	"cmp"
	"embed"
	"slices"
	"strings"

	"github.com/drawbar/drawbar/govern/protocol"
)

//go:embed scaffold
var scaffoldFiles embed.FS

// Template is a kind of governed project.
type Template struct {
	ID          string `json:"id"`
	Description string `json:"description"`

	local    bool              // every role writes and has a program as its runtime
	planning []string          // further files below .planning/
	guidance map[string]string // appended to the prompts of roles
	spec     specGuidance
}

// specGuidance are the hints in the sections of SYSTEM_SPEC.md.
type specGuidance struct{ purpose, interfaces, behavior, errors, acceptance string }

var plainSpec = specGuidance{
	purpose:    "What it does, for whom, and why.",
	interfaces: "The exact calls, requests or formats that others use.",
	behavior:   "What happens, step by step.",
	errors:     "What can go wrong, and what the user then sees.",
	acceptance: "The checks that show that it works: a command or an action, and its expected result.",
}

var templates = []Template{
	{ID: "generic", Description: "any project: planning, implementation and review, with people at the gates", spec: plainSpec},
	{ID: "library", Description: "a package that others import: its API, compatibility and release",
		planning: []string{"public-api.md", "compatibility-policy.md", "release-adoption.md"},
		guidance: map[string]string{
			"pm":  "The product is what users import. Decide which names are public, and what they guarantee, before work begins.",
			"dev": "An upgrade must not break users: a changed signature, error or import path is a change of behavior. Try the package from an empty project.",
			"qa":  "Install the package as a user would, call what changed, and compare the results with `.planning/public-api.md` and `.planning/compatibility-policy.md`.",
		},
		spec: specGuidance{"What the library does, for whom, and its main entry point.", "Every exported name with its signature; see public-api.md.",
			"What each call does: inputs, results, side effects, concurrent use.", "Invalid arguments and the resulting errors; see compatibility-policy.md.",
			"Calls with their results; installation and a call from an empty project."}},
	{ID: "cli-tool", Description: "a command-line program: its commands, platforms and distribution",
		planning: []string{"command-surface.md", "platform-support.md", "distribution-checklist.md"},
		guidance: map[string]string{
			"dev": "Help, error messages and exit codes are part of the product. Test them, including without a terminal and with a wrong flag.",
			"qa":  "Run every command that changed: its help, a wrong flag, a missing file, output to a pipe. Install it the way users do.",
		},
		spec: specGuidance{"What the program does, for whom, and its main commands.", "Commands, flags, and what goes to standard output and standard error; see command-surface.md.",
			"What each command does, with its exit codes, and whether it is safe to repeat.", "Wrong flags, missing input, missing permissions, no network: the message and what to do next.",
			"Commands with their output and exit code, on each platform."}},
	{ID: "web-app", Description: "a web application: its flows, interface and browsers",
		planning: []string{"user-flows.md", "ui-acceptance.md", "browser-support.md"},
		guidance: map[string]string{
			"pm": "Define the main flows and the smallest supported screen before work begins.",
			"qa": "Walk through each flow on a small and a large screen, with only the keyboard, without data and with a failing network. Report everything that looks broken as a defect.",
		},
		spec: specGuidance{"What users do with it, and the flow that matters most.", "Screens, URLs and actions; see user-flows.md.",
			"What happens in each flow, from loading to saving.", "No network, wrong input, expired login, no data; see ui-acceptance.md.",
			"Flows with what must be visible at the end, on each supported screen."}},
	{ID: "api-service", Description: "a backend service: its contract, operations and error budget",
		planning: []string{"api-contract.md", "operational-readiness.md", "error-budget.md"},
		guidance: map[string]string{
			"pm":  "Define the contract with callers and the operational requirements before work begins.",
			"dev": "A changed field, status or migration affects others. Describe it in the notes, and keep a way to roll back.",
			"qa":  "Call each endpoint with valid, invalid and no credentials, with malformed bodies and with a dependency down. Compare with `.planning/api-contract.md`.",
		},
		spec: specGuidance{"What the service does, for whom, and why it is a separate service.", "Endpoints with requests and responses; see api-contract.md.",
			"A request from arrival to response: caches, limits, background work.", "Each status it returns, and what happens when a dependency fails; see error-budget.md.",
			"Requests with status and body, including refused ones."}},
	{ID: "full-local-cli", Description: "every role is performed by a program and may write; people approve at the gates", local: true, spec: plainSpec},
}

// Templates are the templates of Scaffold, the default first.
func Templates() []Template { return slices.Clone(templates) }

func templateIDs() []string {
	ids := make([]string, len(templates))
	for i, t := range templates {
		ids[i] = t.ID
	}
	return ids
}

// scaffoldRoles are the roles of every template, in their order.
var scaffoldRoles = []string{"pm", "dev", "qa", "eng_director"}

// config is the configuration of a new project.
func (t Template) config(o ScaffoldOptions, dev protocol.Runtime) *protocol.Config {
	yes, ceiling := true, 50.0
	perTurn, attempts, cycles := 2.0, 2, 2
	c := &protocol.Config{
		SchemaVersion: protocol.ConfigVersion,
		Template:      t.ID,
		Project:       protocol.Project{ID: o.ID, Name: o.Name, Goal: o.Goal, DefaultBranch: "main"},
		Budget:        &protocol.Budget{PerTurnMaxUSD: &perTurn, PerRunMaxUSD: &ceiling, OnExceed: "pause_and_escalate"},
		Retention:     []byte(`{"talk_strategy":"append_only","history_strategy":"jsonl_append_only"}`),
		Rules:         protocol.Rules{ChallengeRequired: &yes, MaxTurnRetries: &attempts, MaxDeadlockCycles: &cycles},
		Routing:       &protocol.Ordered[protocol.Phase]{},
		Gates:         &protocol.Ordered[protocol.Gate]{},
	}
	t.staff(c, o, dev)
	c.Routing.Set("planning", protocol.Phase{EntryRole: "pm", AllowedNextRoles: []string{"pm", "eng_director", protocol.Human}, ExitGate: "planning_signoff"})
	c.Routing.Set("implementation", protocol.Phase{EntryRole: "dev", AllowedNextRoles: []string{"dev", "qa", "eng_director", protocol.Human}, ExitGate: "implementation_complete"})
	c.Routing.Set("qa", protocol.Phase{EntryRole: "qa", AllowedNextRoles: []string{"dev", "qa", "eng_director", protocol.Human}, ExitGate: "qa_ship_verdict"})
	plan := func(names ...string) []string {
		for i, n := range names {
			names[i] = protocol.PlanningDir + "/" + n
		}
		return names
	}
	c.Gates.Set("planning_signoff", protocol.Gate{RequiresFiles: plan("PM_SIGNOFF.md", "ROADMAP.md", "SYSTEM_SPEC.md"), RequiresHumanApproval: true})
	c.Gates.Set("implementation_complete", protocol.Gate{RequiresFiles: plan("IMPLEMENTATION_NOTES.md"), RequiresVerificationPass: true})
	c.Gates.Set("qa_ship_verdict", protocol.Gate{RequiresFiles: plan("acceptance-matrix.md", "ship-verdict.md", "RELEASE_NOTES.md"),
		RequiresHumanApproval: true, RequiresVerificationPass: true})
	if !t.local {
		when := &protocol.ApprovalWhen{GatePassed: &yes}
		c.ApprovalPolicy = &protocol.ApprovalPolicy{
			PhaseTransitions: &protocol.TransitionPolicy{Default: "require_human", Rules: []protocol.TransitionRule{
				{FromPhase: "planning", ToPhase: "implementation", Action: "auto_approve", When: when}}},
			RunCompletion: &protocol.CompletionPolicy{Action: "auto_approve", When: when},
		}
	}
	return c
}

// staff declares the roles with their runtimes and prompts.
func (t Template) staff(c *protocol.Config, o ScaffoldOptions, dev protocol.Runtime) {
	titles := map[string][2]string{
		"pm":           {"Product Manager", "Protect user value, keep the scope clear, and state how each result is verified."},
		"dev":          {"Developer", "Build what was approved and show that it works."},
		"qa":           {"QA", "Challenge the result: correctness, coverage of the criteria, readiness to ship."},
		"eng_director": {"Engineering Director", "Resolve technical deadlocks and keep the whole coherent."},
	}
	for _, id := range scaffoldRoles {
		role := protocol.Role{Title: titles[id][0], Mandate: titles[id][1], WriteAuthority: protocol.ReviewOnly}
		rt := protocol.Runtime{Type: protocol.RuntimeManual}
		if id == "dev" || t.local {
			role.WriteAuthority, rt = protocol.Authoritative, dev
		}
		if o.Agent != "" && (t.local || id != "pm") && (id != "dev" || o.DevCommand == "") {
			rt = protocol.Runtime{Type: protocol.RuntimeAgent, Agent: o.Agent, Approve: cmp.Or(o.Approve, protocol.ApprovePrompt)}
		}
		prefix := map[string]string{protocol.RuntimeManual: "manual-", protocol.RuntimeLocalCLI: "local-", protocol.RuntimeAgent: "agent-"}[rt.Type]
		role.Runtime = prefix + strings.TrimPrefix(id, "eng_")
		c.Roles.Set(id, role)
		c.Runtimes.Set(role.Runtime, rt)
		c.Prompts.Set(id, protocol.PromptsDir+"/"+id+".md")
	}
}
