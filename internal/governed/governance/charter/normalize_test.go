package charter

import (
	"bytes"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/drawbar/drawbar/govern/protocol"
	"github.com/google/go-cmp/cmp"
)

func decode(t *testing.T, text []byte) *protocol.Config {
	t.Helper()
	c, problems := Decode(text)
	if bad := Errors(problems); len(bad) > 0 {
		t.Fatalf("%v", bad)
	}
	return c
}

// firstEdition is the configuration that specification 000 shows, in one project.
const firstEdition = `{
  "schema_version": "1.0", "project": {"id": "p", "name": "P"},
  "roles": {
    "pm": {"adapter": "manual", "adapter_config": {"poll_interval_ms": 2000, "timeout_ms": 1200000}},
    "dev": {"adapter": "local_cli", "adapter_config": {"command": "claude", "args": ["--print"], "timeout_ms": 600000,
      "env": {"ANTHROPIC_API_KEY": "${ANTHROPIC_API_KEY}"}}},
    "qa-lead": {"adapter": "api_proxy", "adapter_config": {"provider": "anthropic", "model": "claude-sonnet-4-20250514", "max_tokens": 8192,
      "temperature": 0.2, "api_key_env": "ANTHROPIC_API_KEY", "timeout_ms": 120000, "max_retries": 5}},
    "own": {"adapter": "my_adapter", "adapter_config": {"x": 1}}
  },
  "adapters": {"my_adapter": {"module": "./adapters/my-adapter.js"}}
}`

func TestNormalizeFirstEdition(t *testing.T) {
	t.Parallel()
	c := decode(t, []byte(firstEdition))
	before, err := protocol.Marshal(c)
	if err != nil {
		t.Fatal(err)
	}
	n := Normalize(c)
	if after, _ := protocol.Marshal(c); !bytes.Equal(before, after) {
		t.Error("the input was changed")
	}
	type role struct{ title, runtime, authority string }
	got := map[string]role{}
	for id, r := range n.Roles.All() {
		if r.Mandate == "" || !r.FirstEdition() {
			t.Errorf("%s: %+v", id, r)
		}
		got[id] = role{r.Title, r.RuntimeID(), string(r.WriteAuthority)}
	}
	want := map[string]role{"pm": {"Pm", "manual-pm", "authoritative"}, "dev": {"Dev", "local_cli-dev", "authoritative"},
		"qa-lead": {"Qa Lead", "api_proxy-qa-lead", "review_only"}, "own": {"Own", "my_adapter-own", "authoritative"}}
	if d := cmp.Diff(want, got, cmp.AllowUnexported(role{})); d != "" {
		t.Error(d)
	}
	_, pm, _ := n.RuntimeOf("pm")
	if pm.Type != "manual" || *pm.PollIntervalMS != 2000 || *pm.TimeoutMS != 1200000 || pm.GraceMS != nil {
		t.Errorf("pm %+v", pm)
	}
	_, dev, _ := n.RuntimeOf("dev")
	if dev.Type != "local_cli" || dev.PromptTransport != "stdin" || *dev.GraceMS != 5000 || *dev.TimeoutMS != 600000 || !slices.Equal(dev.Args, []string{"--print"}) ||
		!slices.Equal(dev.Command.List, []string{"claude"}) || dev.Env.At("ANTHROPIC_API_KEY") != "${ANTHROPIC_API_KEY}" {
		t.Errorf("dev %+v", dev)
	}
	_, qa, _ := n.RuntimeOf("qa-lead")
	raw, _ := protocol.Marshal(qa)
	if string(raw) != `{"type":"api_proxy","model":"claude-sonnet-4-20250514","provider":"anthropic","auth_env":"ANTHROPIC_API_KEY","max_output_tokens":8192,"timeout_seconds":120}` ||
		*qa.Temperature != 0.2 || *qa.MaxRetries != 5 {
		t.Errorf("qa %s %+v", raw, qa)
	}
	own := n.Runtimes.At("my_adapter-own")
	if own.Type != "my_adapter" || string(own.AdapterConfig) != `{"x":1}` || own.Adapter.Module != "./adapters/my-adapter.js" {
		t.Errorf("own %+v", own)
	}
}

// TestNormalizeAdapters: a runtime on a custom adapter has what the adapter declares, and keeps its own time limit.
func TestNormalizeAdapters(t *testing.T) {
	t.Parallel()
	c := decode(t, edit(t, base, `adapters={"mine":{"command":["./m","x"],"cwd":"d","env":{"A":"b"},"timeout_ms":5},"js":{"module":"./m.js"}}`,
		`runtimes.cli={"type":"mine"}`, `runtimes.b={"type":"mine","timeout_ms":9}`, `runtimes.c={"type":"js"}`))
	n := Normalize(Normalize(c))
	cli, b, js := n.Runtimes.At("cli"), n.Runtimes.At("b"), n.Runtimes.At("c")
	if cli.Adapter == nil || !slices.Equal(cli.Command.List, []string{"./m", "x"}) || cli.CWD != "d" || cli.Env.At("A") != "b" || cli.TimeoutMS == nil || *cli.TimeoutMS != 5 {
		t.Errorf("cli %+v", cli)
	}
	if b.TimeoutMS == nil || *b.TimeoutMS != 9 || !slices.Equal(js.Command.List, []string{"node", "./m.js"}) || js.TimeoutMS != nil {
		t.Errorf("b %+v, js %+v", b, js)
	}
	if n.Runtimes.Len() != Normalize(c).Runtimes.Len() {
		t.Errorf("normalizing again: %v", n.Runtimes.Keys())
	}
	for _, a := range []protocol.Authority{protocol.Authoritative, protocol.Proposed, protocol.ReviewOnly} {
		local := protocol.Runtime{Type: protocol.RuntimeLocalCLI}
		if got, want := WritePath(a, cli), WritePath(a, local); got != want {
			t.Errorf("%s writes by %s, want %s", a, got, want)
		}
		if d := cmp.Diff(Contract(local), Contract(cli)); d != "" {
			t.Error(d)
		}
	}
}

func TestNormalizeKeepsDeclaredRuntimes(t *testing.T) {
	t.Parallel()
	c := decode(t, edit(t, firstEdition, `runtimes={"local_cli-dev":{"type":"manual"},"manual-pm":{"type":"manual","poll_interval_ms":2000,"timeout_ms":1200000}}`))
	n := Normalize(c)
	dev, pm := n.Roles.At("dev"), n.Roles.At("pm")
	if dev.Runtime != "local_cli-dev-2" || n.Runtimes.At("local_cli-dev").Type != "manual" || n.Runtimes.At("local_cli-dev-2").Type != "local_cli" {
		t.Errorf("dev runs on %s", dev.Runtime)
	}
	if pm.Runtime != "manual-pm" {
		t.Errorf("pm runs on %s", pm.Runtime)
	}
	again := Normalize(n)
	if got := again.Roles.At("dev").Runtime; got != "local_cli-dev-2" || again.Runtimes.Len() != n.Runtimes.Len() {
		t.Errorf("normalizing again moves dev to %s", got)
	}
}

func TestNormalizeDefaults(t *testing.T) {
	t.Parallel()
	n := Normalize(decode(t, edit(t, base, `-routing`, `-gates`, `-workflow_kit`, `project.goal="  x "`)))
	if got := n.Routing.Keys(); !slices.Equal(got, []string{"planning", "implementation", "qa"}) {
		t.Errorf("phases %v", got)
	}
	if p := n.Routing.At("qa"); p.EntryRole != "dev" || !slices.Equal(p.AllowedNextRoles, []string{"dev", "pm", "human"}) {
		t.Errorf("qa %+v", p) // the edit sorts keys: dev is the first role
	}
	if n.Routing.At("planning").EntryRole != "pm" || n.Routing.At("implementation").EntryRole != "dev" {
		t.Errorf("%+v", n.Routing)
	}
	if got := n.WorkflowKit.Phases.Keys(); !slices.Equal(got, []string{"planning", "implementation", "qa"}) {
		t.Errorf("kit %v", got)
	}
	if n.Project.DefaultBranch != "main" || n.Project.Goal != "x" || n.Template != "generic" || n.Workspace != "shared" {
		t.Errorf("%+v %s %s", n.Project, n.Template, n.Workspace)
	}
}

func TestKit(t *testing.T) {
	t.Parallel()
	paths := func(c *protocol.Config, phase string) []string {
		var list []string
		for _, a := range Artifacts(c, phase) {
			list = append(list, strings.TrimSuffix(a.Path+":"+a.Semantics, ":"))
		}
		return list
	}
	for name, c := range map[string]struct {
		edits []string
		phase string
		want  []string
	}{
		"default":                  {[]string{`-workflow_kit`}, "planning", []string{".planning/PLAN.md", ".planning/PM_SIGNOFF.md:pm_signoff", ".planning/SYSTEM_SPEC.md:system_spec", ".planning/ROADMAP.md"}},
		"default of another phase": {[]string{`-workflow_kit`}, "build", nil},
		"opted out":                {nil, "planning", []string{".planning/PLAN.md"}},
		"template and own": {[]string{`workflow_kit={"phases":{"build":{"template":"security-review","artifacts":[{"path":"b.md"},{"path":".planning/SECURITY_REVIEW.md","semantics":"release_notes"},{"path":"c.md","required":false}]}}}`}, "build",
			[]string{".planning/SECURITY_REVIEW.md:release_notes", "b.md"}},
		"a file of both is one": {[]string{`workflow_kit={"phases":{"planning":{"artifacts":[{"path":".planning/PLAN.md","semantics":"system_spec"}]}}}`}, "planning", []string{".planning/PLAN.md:system_spec"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			n := Normalize(decode(t, edit(t, base, c.edits...)))
			if got := paths(n, c.phase); !slices.Equal(got, c.want) {
				t.Errorf("%v, want %v", got, c.want)
			}
		})
	}
	for _, id := range KitTemplates() {
		if len(KitArtifacts(id)) == 0 {
			t.Errorf("the template %s is empty", id)
		}
	}
	// Without normalizing only the gate's files count.
	if got := paths(decode(t, edit(t, base, `-workflow_kit`)), "planning"); !slices.Equal(got, []string{".planning/PLAN.md"}) {
		t.Errorf("not normalized: %v", got)
	}
}

func TestWritePath(t *testing.T) {
	t.Parallel()
	want := map[string][3]string{ // authoritative, proposed, review_only
		"manual": {"direct", "patch_authoring", "planning_only"}, "local_cli": {"direct", "patch_authoring", "planning_only"},
		"agent": {"direct", "patch_authoring", "planning_only"}, "api_proxy": {"invalid", "proposal_apply_required", "review_artifact_only"},
		"remote_agent": {"invalid", "proposal_apply_required", "review_artifact_only"}, "mcp": {"tool_defined", "tool_defined", "tool_defined"},
		"moon": {"invalid", "invalid", "invalid"},
	}
	for typ, row := range want {
		for i, a := range []protocol.Authority{protocol.Authoritative, protocol.Proposed, protocol.ReviewOnly} {
			rt := protocol.Runtime{Type: typ, Capabilities: &protocol.RuntimeCapabilities{CanWriteFiles: "direct", WorkflowArtifactOwnership: "yes"}}
			if got := WritePath(a, rt); got != row[i] {
				t.Errorf("%s on %s: %s, want %s", a, typ, got, row[i])
			}
		}
		if got := WritePath("owner", protocol.Runtime{Type: typ}); got != PathInvalid {
			t.Errorf("an unknown authority on %s: %s", typ, got)
		}
	}
}

func TestContract(t *testing.T) {
	t.Parallel()
	for typ, want := range map[string]protocol.RuntimeCapabilities{
		"manual": {CanWriteFiles: "direct", ProposalSupport: "none", WorkflowArtifactOwnership: "yes"}, "local_cli": {CanWriteFiles: "direct", ProposalSupport: "optional", WorkflowArtifactOwnership: "yes"},
		"agent":        {CanWriteFiles: "direct", ProposalSupport: "optional", WorkflowArtifactOwnership: "yes"},
		"api_proxy":    {CanWriteFiles: "proposal_only", ProposalSupport: "native", WorkflowArtifactOwnership: "proposal_apply_required"},
		"remote_agent": {CanWriteFiles: "proposal_only", ProposalSupport: "native", WorkflowArtifactOwnership: "proposal_apply_required"},
		"mcp":          {CanWriteFiles: "tool_defined", ProposalSupport: "tool_defined", WorkflowArtifactOwnership: "tool_defined"},
		"moon":         {CanWriteFiles: "unknown", ProposalSupport: "unknown", WorkflowArtifactOwnership: "unknown"},
	} {
		if got := Contract(protocol.Runtime{Type: typ}); got != want {
			t.Errorf("%s: %+v", typ, got)
		}
		want.ProposalSupport = "native"
		if got := Contract(protocol.Runtime{Type: typ, Capabilities: &protocol.RuntimeCapabilities{ProposalSupport: "native"}}); got != want {
			t.Errorf("%s with an override: %+v", typ, got)
		}
	}
}

func TestAdmission(t *testing.T) {
	t.Parallel()
	nobody := []string{`roles.pm.runtime="cli"`, `-runtimes.person`}
	for name, c := range map[string]struct {
		edits []string
		want  []string
	}{
		"clean": {nil, nil},
		"reviewers over the network write nothing": {append([]string{api, `roles.pm.runtime="api"`}, `runtimes.person.type="manual"`), []string{"error ADM-001 routing.planning"}},
		"a reviewer's program writes plans":        {nobody, []string{"warning ADM-003 routing.planning.exit_gate"}},
		"a reviewer's program writes no product":   {append(nobody, `gates.plan_ok.requires_files=["src/x.go"]`), []string{"error ADM-001 routing.planning", "warning ADM-003 routing.planning.exit_gate"}},
		"a person writes everything":               {[]string{`gates.plan_ok.requires_files=["src/x.go"]`}, nil},
		"a proposal can bring it":                  {[]string{api, `roles.pm.runtime="api"`, `roles.pm.write_authority="proposed"`}, nil},
		"the default kit counts":                   {[]string{api, `roles.pm.runtime="api"`, `gates.plan_ok.requires_files=[]`, `-workflow_kit`}, []string{"error ADM-001 routing.planning"}},
		"an owner elsewhere":                       {[]string{`workflow_kit={"phases":{"planning":{"artifacts":[{"path":"a.md","owned_by":"dev"}]}}}`}, []string{"error ADM-002 workflow_kit.phases.planning"}},
		"an optional file has no owner to reach":   {[]string{`workflow_kit={"phases":{"planning":{"artifacts":[{"path":"a.md","owned_by":"dev","required":false}]}}}`}, nil},
		"an owner who cannot write":                {[]string{api, `roles.pm.runtime="api"`, `routing.planning.allowed_next_roles=["pm","dev"]`, `workflow_kit={"phases":{"planning":{"artifacts":[{"path":"a.md","owned_by":"pm"}]}}}`}, []string{"error ADM-004 workflow_kit.phases.planning"}},
		"no gate, no question":                     {[]string{api, `roles.pm.runtime="api"`, `-routing.planning.exit_gate`}, nil},
		"a policy approves":                        {append(nobody, `approval_policy={"phase_transitions":{"default":"auto_approve"}}`), nil},
		"the first rule counts":                    {append(nobody, `approval_policy={"phase_transitions":{"default":"auto_approve","rules":[{"from_phase":"planning","action":"require_human"},{"action":"auto_approve"}]}}`), []string{"warning ADM-003 routing.planning.exit_gate"}},
		"a rule of another phase does not":         {append(nobody, `approval_policy={"phase_transitions":{"rules":[{"from_phase":"build","action":"auto_approve"}]}}`), []string{"warning ADM-003 routing.planning.exit_gate"}},
		"credentialed gates always ask":            {append(nobody, `gates.plan_ok.credentialed=true`, `approval_policy={"phase_transitions":{"default":"auto_approve"}}`), []string{"warning ADM-003 routing.planning.exit_gate"}},
		"the end asks":                             {append(nobody, `-gates.plan_ok.requires_human_approval`, `routing.build.exit_gate="end"`, `gates.end={"requires_human_approval":true}`), []string{"warning ADM-003 routing.build.exit_gate"}},
		"the end is approved":                      {append(nobody, `-gates.plan_ok.requires_human_approval`, `routing.build.exit_gate="end"`, `gates.end={"requires_human_approval":true}`, `approval_policy={"run_completion":{"action":"auto_approve"}}`), nil},
		"the end of a credentialed gate asks":      {append(nobody, `-gates.plan_ok.requires_human_approval`, `routing.build.exit_gate="end"`, `gates.end={"requires_human_approval":true,"credentialed":true}`, `approval_policy={"run_completion":{"action":"auto_approve"}}`), []string{"warning ADM-003 routing.build.exit_gate"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cfg := decode(t, edit(t, base, c.edits...))
			var ordered protocol.Ordered[protocol.Phase]
			for _, p := range []string{"planning", "build"} { // the edit sorts keys
				ordered.Set(p, cfg.Routing.At(p))
			}
			cfg.Routing = &ordered
			got := kinds(Admission(cfg))
			slices.Sort(c.want)
			if !slices.Equal(got, c.want) {
				t.Errorf("%v, want %v", Admission(cfg), c.want)
			}
			for _, p := range Admission(cfg) {
				if p.Message == "" || p.Hint == "" {
					t.Errorf("%+v", p)
				}
			}
		})
	}
}

func TestUnbuilt(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		edits []string
		want  []string
	}{
		"clean":                     {nil, nil},
		"agent":                     {[]string{`runtimes.cli={"type":"agent","agent":"claude"}`}, nil},
		"api in a routed role":      {[]string{api, `roles.pm.runtime="api"`}, nil},
		"api in nobody's hands":     {[]string{api}, nil},
		"api in a role that waits":  {[]string{api, `roles.x={"title":"X","mandate":"x","write_authority":"review_only","runtime":"api"}`}, nil},
		"mcp":                       {[]string{`runtimes.cli={"type":"mcp","command":"x"}`}, nil},
		"remote":                    {[]string{`runtimes.r={"type":"remote_agent","url":"https://x.test"}`, `roles.pm.runtime="r"`}, nil},
		"parallel turns":            {[]string{`routing.build.max_concurrent_turns=2`}, nil},
		"one turn":                  {[]string{`routing.build.max_concurrent_turns=1`}, nil},
		"notifications":             {[]string{`notifications={"local":true}`}, []string{"warning not_built notifications.local"}},
		"webhooks":                  {[]string{`notifications={"webhooks":[{"name":"n","url":"https://x.test","events":["run_blocked"]}],"local":null}`}, nil},
		"no notifications":          {[]string{`notifications={}`, `schedules={}`}, nil},
		"schedules":                 {[]string{`schedules={"n":{"every_minutes":1}}`}, nil},
		"custom adapter":            {[]string{`adapters={"mine":{"module":"m.js"}}`, `roles.dev={"adapter":"mine"}`}, nil},
		"first edition of an API":   {[]string{`roles.pm={"adapter":"api_proxy","adapter_config":{"provider":"openai","model":"m","api_key_env":"K"}}`}, nil},
		"first edition of programs": {[]string{`roles.pm={"adapter":"manual"}`, `roles.dev={"adapter":"local_cli","adapter_config":{"command":"x"}}`}, nil},
		"proposals":                 {[]string{`roles.dev.write_authority="proposed"`}, nil},
		"other commands' settings":  {[]string{`mission_planner={"mode":"x"}`, `intent_coverage_mode="strict"`, `run_loop={"continuous":{"on_idle":"exit"}}`}, []string{"warning not_built mission_planner", "warning not_built run_loop.continuous.on_idle"}},
		"retries of ghosts":         {[]string{`run_loop={"continuous":{"auto_retry_on_ghost":{"enabled":true}}}`}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := kinds(Unbuilt(decode(t, edit(t, base, c.edits...))))
			if !slices.Equal(got, c.want) {
				t.Errorf("%v, want %v", got, c.want)
			}
		})
	}
}

// TestTableKnowsEveryField holds the table of keys and the types that are read from them together.
func TestTableKnowsEveryField(t *testing.T) {
	t.Parallel()
	extra := map[string]bool{"$schema": true, "continuous": true} // kept, but not read here

	for _, c := range []struct {
		path []string
		typ  reflect.Type
	}{
		{nil, reflect.TypeFor[protocol.Config]()}, {[]string{"project"}, reflect.TypeFor[protocol.Project]()},
		{[]string{"roles", "x"}, reflect.TypeFor[protocol.Role]()}, {[]string{"runtimes", "x"}, reflect.TypeFor[protocol.Runtime]()},
		{[]string{"runtimes", "x", "capabilities"}, reflect.TypeFor[protocol.RuntimeCapabilities]()},
		{[]string{"routing", "x"}, reflect.TypeFor[protocol.Phase]()}, {[]string{"gates", "x"}, reflect.TypeFor[protocol.Gate]()},
		{[]string{"budget"}, reflect.TypeFor[protocol.Budget]()}, {[]string{"budget", "cost_rates", "x"}, reflect.TypeFor[protocol.CostRate]()},
		{[]string{"timeouts"}, reflect.TypeFor[protocol.Timeouts]()}, {[]string{"rules"}, reflect.TypeFor[protocol.Rules]()},
		{[]string{"run_loop"}, reflect.TypeFor[protocol.RunLoop]()}, {[]string{"workflow_kit"}, reflect.TypeFor[protocol.WorkflowKit]()},
		{[]string{"workflow_kit", "phases", "x"}, reflect.TypeFor[protocol.KitPhase]()},
		{[]string{"approval_policy"}, reflect.TypeFor[protocol.ApprovalPolicy]()},
	} {
		n, ok := Keys().At(c.path)
		if !ok {
			t.Fatalf("no node at %v", c.path)
		}
		fields := []string{}
		for field := range c.typ.Fields() {
			if name, _, _ := strings.Cut(field.Tag.Get("json"), ","); name != "-" && name != "" {
				fields = append(fields, name)
			}
		}
		for _, f := range fields {
			if _, ok := n.Find(f); !ok {
				t.Errorf("%v: the table has no %s", c.path, f)
			}
		}
		for _, k := range n.KeyNames() {
			if !slices.Contains(fields, k) && !extra[k] {
				t.Errorf("%v: nothing reads %s", c.path, k)
			}
		}
	}
	for _, typ := range RuntimeTypes() {
		for _, k := range keysOf(typ) {
			n, _ := Keys().At([]string{"runtimes", "x"})
			if _, ok := n.Find(k); !ok {
				t.Errorf("%s counts for %s and is in no table", k, typ)
			}
		}
	}
}
