package charter

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/drawbar/drawbar/govern/protocol"
)

const base = `{
  "schema_version": "1.0",
  "project": {"id": "p", "name": "P"},
  "roles": {
    "pm": {"title": "PM", "mandate": "plan", "write_authority": "review_only", "runtime": "person"},
    "dev": {"title": "Dev", "mandate": "build", "write_authority": "authoritative", "runtime": "cli"}
  },
  "runtimes": {
    "person": {"type": "manual"},
    "cli": {"type": "local_cli", "command": ["agent"], "prompt_transport": "stdin"}
  },
  "routing": {
    "planning": {"entry_role": "pm", "allowed_next_roles": ["pm", "human"], "exit_gate": "plan_ok"},
    "build": {"entry_role": "dev", "allowed_next_roles": ["dev", "pm", "human"]}
  },
  "gates": {"plan_ok": {"requires_files": [".planning/PLAN.md"], "requires_human_approval": true}},
  "workflow_kit": {}
}`

// edit puts JSON at a path: "a.b" sets, "-a.b" removes; "[]" at the end appends.
func edit(t *testing.T, text string, edits ...string) []byte {
	t.Helper()
	var root any
	if err := json.Unmarshal([]byte(text), &root); err != nil {
		t.Fatal(err)
	}
	for _, e := range edits {
		path, raw, _ := strings.Cut(e, "=")
		remove := strings.HasPrefix(path, "-")
		keys := strings.Split(strings.TrimPrefix(path, "-"), ".")
		at := root.(map[string]any)
		for _, k := range keys[:len(keys)-1] {
			next, ok := at[k].(map[string]any)
			if !ok {
				next = map[string]any{}
				at[k] = next
			}
			at = next
		}
		last := keys[len(keys)-1]
		if remove {
			delete(at, last)
			continue
		}
		var v any
		d := json.NewDecoder(strings.NewReader(raw))
		d.UseNumber()
		if err := d.Decode(&v); err != nil {
			t.Fatalf("%s: %v", e, err)
		}
		at[last] = v
	}
	out, err := json.Marshal(root)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func kinds(problems []Problem) []string {
	list := make([]string, len(problems))
	for i, p := range problems {
		list[i] = fmt.Sprintf("%s %s %s", p.Severity, p.Type, p.Field)
	}
	slices.Sort(list)
	return list
}

func TestBaseIsClean(t *testing.T) {
	t.Parallel()
	c, problems := Decode([]byte(base))
	if len(problems) > 0 || c == nil {
		t.Fatalf("%v", problems)
	}
}

const api = `runtimes.api={"type":"api_proxy","provider":"anthropic","model":"m","auth_env":"KEY"}`

// TestRules has one case per rule: what is changed, and every problem that it makes.
func TestRules(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		edits []string
		want  []string // severity type field
	}{
		"number 4":                      {[]string{`schema_version=4`}, nil},
		"number 3":                      {[]string{`schema_version=3`}, []string{"error schema_version_invalid schema_version"}},
		"text 4":                        {[]string{`schema_version="4"`}, []string{"error schema_version_invalid schema_version"}},
		"no version":                    {[]string{`-schema_version`}, []string{"error schema_version_invalid schema_version"}},
		"null version":                  {[]string{`schema_version=null`}, []string{"error schema_version_invalid schema_version"}},
		"no project":                    {[]string{`-project`}, []string{"error missing_field project"}},
		"no name":                       {[]string{`-project.name`}, []string{"error missing_field project.name"}},
		"blank id":                      {[]string{`project.id=" "`}, []string{"error invalid_value project.id"}},
		"blank goal":                    {[]string{`project.goal=""`}, []string{"error invalid_value project.goal"}},
		"null goal":                     {[]string{`project.goal=null`}, nil},
		"goal of 500":                   {[]string{`project.goal="` + strings.Repeat("é", 500) + ` "`}, nil},
		"goal of 501":                   {[]string{`project.goal="` + strings.Repeat("é", 501) + `"`}, []string{"error invalid_value project.goal"}},
		"bad branch":                    {[]string{`project.default_branch="a b"`}, []string{"error invalid_value project.default_branch"}},
		"no roles":                      {[]string{`-roles`}, []string{"error missing_field roles", "error undeclared_role_reference routing.build.allowed_next_roles[0]", "error undeclared_role_reference routing.build.allowed_next_roles[1]", "error undeclared_role_reference routing.build.entry_role", "error undeclared_role_reference routing.planning.allowed_next_roles[0]", "error undeclared_role_reference routing.planning.entry_role"}},
		"empty roles":                   {[]string{`roles={}`, `routing={}`}, []string{"error missing_field roles"}},
		"role id":                       {[]string{`roles.PM2={"title":"t","mandate":"m","write_authority":"proposed","runtime":"cli"}`}, []string{"error invalid_value roles.PM2"}},
		"role human":                    {[]string{`roles.human={"title":"t","mandate":"m","write_authority":"proposed","runtime":"cli"}`}, []string{"error invalid_value roles.human"}},
		"empty role":                    {[]string{`roles.x={}`}, []string{"error missing_field roles.x.mandate", "error missing_field roles.x.runtime", "error missing_field roles.x.title", "error missing_field roles.x.write_authority"}},
		"blank title":                   {[]string{`roles.dev.title=" "`}, []string{"error invalid_value roles.dev.title"}},
		"authority":                     {[]string{`roles.dev.write_authority="authoritativ"`}, []string{"error invalid_value roles.dev.write_authority"}},
		"decision authority 0":          {[]string{`roles.dev.decision_authority=0`}, nil},
		"decision authority 99":         {[]string{`roles.dev.decision_authority=99`}, nil},
		"decision authority 100":        {[]string{`roles.dev.decision_authority=100`}, []string{"error invalid_value roles.dev.decision_authority"}},
		"decision authority 1.5":        {[]string{`roles.dev.decision_authority=1.5`}, []string{"error wrong_type roles.dev.decision_authority"}},
		"decision authority null":       {[]string{`roles.dev.decision_authority=null`}, nil},
		"unknown runtime":               {[]string{`roles.dev.runtime="clu"`}, []string{"error undeclared_runtime_reference roles.dev.runtime"}},
		"settings without adapter":      {[]string{`roles.dev.adapter_config={}`}, []string{"error missing_field roles.dev.adapter"}},
		"unknown keys":                  {[]string{`projekt=1`, `roles.dev.mandat="x"`, `runtimes.cli.comand="x"`, `routing.build.entry="x"`, `gates.plan_ok.files=[]`}, []string{"warning unknown_key gates.plan_ok.files", "warning unknown_key projekt", "warning unknown_key roles.dev.mandat", "warning unknown_key routing.build.entry", "warning unknown_key runtimes.cli.comand"}},
		"key in another case":           {[]string{`roles.dev.Title="x"`}, []string{"error unknown_key roles.dev.Title"}},
		"runtime type":                  {[]string{`runtimes.cli.type="local-cli"`}, []string{"error invalid_value runtimes.cli.type"}},
		"no runtime type":               {[]string{`-runtimes.cli.type`}, []string{"error missing_field runtimes.cli.type"}},
		"authoritative on api_proxy":    {[]string{api, `roles.dev.runtime="api"`}, []string{"error illegal_runtime roles.dev.runtime"}},
		"authoritative on remote_agent": {[]string{`runtimes.api={"type":"remote_agent","url":"https://x.test/"}`, `roles.dev.runtime="api"`}, []string{"error illegal_runtime roles.dev.runtime"}},
		"an override legalizes nothing": {[]string{`runtimes.api={"type":"api_proxy","provider":"ollama","model":"m","capabilities":{"can_write_files":"direct"}}`, `roles.dev.runtime="api"`},
			[]string{"error illegal_runtime roles.dev.runtime", "warning invalid_value runtimes.api.capabilities.can_write_files"}},
		"review_only on local_cli":       {[]string{`roles.pm.runtime="cli"`}, []string{"warning illegal_runtime roles.pm.runtime"}},
		"review_only on agent":           {[]string{`runtimes.a={"type":"agent","agent":"claude"}`, `roles.pm.runtime="a"`}, nil},
		"review_only on api_proxy":       {[]string{api, `roles.pm.runtime="api"`}, nil},
		"proposed on api_proxy":          {[]string{api, `roles.dev.runtime="api"`, `roles.dev.write_authority="proposed"`}, nil},
		"capability word":                {[]string{`runtimes.cli.capabilities={"can_write_files":"maybe"}`}, []string{"error invalid_value runtimes.cli.capabilities.can_write_files"}},
		"no command":                     {[]string{`-runtimes.cli.command`}, []string{"warning missing_field runtimes.cli.command"}},
		"empty command":                  {[]string{`runtimes.cli.command=[]`}, []string{"error invalid_value runtimes.cli.command"}},
		"number as command":              {[]string{`runtimes.cli.command=7`}, []string{"error wrong_type runtimes.cli.command"}},
		"number in command":              {[]string{`runtimes.cli.command=["x",7]`}, []string{"error wrong_type runtimes.cli.command[1]"}},
		"args beside a list":             {[]string{`runtimes.cli.args=["x"]`}, []string{"warning unused_key runtimes.cli.args"}},
		"args beside a string":           {[]string{`runtimes.cli.command="agent"`, `runtimes.cli.args=["x",""]`}, nil},
		"transport":                      {[]string{`runtimes.cli.prompt_transport="arg"`}, []string{"error invalid_value runtimes.cli.prompt_transport"}},
		"argv without place":             {[]string{`runtimes.cli.prompt_transport="argv"`}, []string{"error invalid_value runtimes.cli.prompt_transport"}},
		"argv with place":                {[]string{`runtimes.cli.prompt_transport="argv"`, `runtimes.cli.command=["a --p={prompt}"]`}, nil},
		"argv with place in args":        {[]string{`runtimes.cli.prompt_transport="argv"`, `runtimes.cli.command="a"`, `runtimes.cli.args=["{prompt}"]`}, nil},
		"argv with place in unread args": {[]string{`runtimes.cli.prompt_transport="argv"`, `runtimes.cli.args=["{prompt}"]`}, []string{"error invalid_value runtimes.cli.prompt_transport", "warning unused_key runtimes.cli.args"}},
		"watchdog 0":                     {[]string{`runtimes.cli.startup_watchdog_ms=0`}, []string{"error invalid_value runtimes.cli.startup_watchdog_ms"}},
		"watchdog text":                  {[]string{`runtimes.cli.startup_watchdog_ms="5"`}, []string{"error wrong_type runtimes.cli.startup_watchdog_ms"}},
		"key of another type":            {[]string{`runtimes.cli.provider="openai"`}, []string{"warning unused_key runtimes.cli.provider"}},
		"null key of another type":       {[]string{`runtimes.cli.provider=null`}, nil},
		"agent":                          {[]string{`runtimes.a={"type":"agent","agent":"claude","model":"m","session":"role","approve":"yolo","result":"structured","thinking":"high","sandbox":"read-only","budget_usd":1,"idle_timeout_ms":5}`}, nil},
		"agent without agent":            {[]string{`runtimes.a={"type":"agent"}`}, []string{"error missing_field runtimes.a.agent"}},
		"agent words":                    {[]string{`runtimes.a={"type":"agent","agent":"-x","session":"s","approve":"a","result":"r","thinking":"t","sandbox":"s","budget_usd":0,"idle_timeout_ms":0}`}, []string{"error invalid_value runtimes.a.agent", "error invalid_value runtimes.a.approve", "error invalid_value runtimes.a.budget_usd", "error invalid_value runtimes.a.idle_timeout_ms", "error invalid_value runtimes.a.result", "error invalid_value runtimes.a.sandbox", "error invalid_value runtimes.a.session", "error invalid_value runtimes.a.thinking"}},
		"api without all":                {[]string{`runtimes.a={"type":"api_proxy"}`}, []string{"error missing_field runtimes.a.auth_env", "error missing_field runtimes.a.model", "error missing_field runtimes.a.provider"}},
		"ollama needs no key":            {[]string{`runtimes.a={"type":"api_proxy","provider":"ollama","model":"m"}`}, nil},
		"provider":                       {[]string{api, `runtimes.api.provider="azure"`}, []string{"error invalid_value runtimes.api.provider"}},
		"base_url":                       {[]string{api, `runtimes.api.base_url="ftp://x"`}, []string{"error invalid_value runtimes.api.base_url"}},
		"a key in place of its name":     {[]string{api, `runtimes.api.auth_env="sk-ant-1"`}, []string{"error invalid_value runtimes.api.auth_env"}},
		"base_url with password":         {[]string{api, `runtimes.api.base_url="https://a:b@x.test/v1"`}, []string{"warning invalid_value runtimes.api.base_url"}},
		"output tokens":                  {[]string{api, `runtimes.api.max_output_tokens=0`}, []string{"error invalid_value runtimes.api.max_output_tokens"}},
		"retry policy": {[]string{api, `runtimes.api.retry_policy={"enabled":1,"max_attempts":0,"base_delay_ms":-1,"backoff_multiplier":0,"jitter":"half","retry_on":["oops"],"retries":3}`},
			[]string{"error invalid_value runtimes.api.retry_policy.backoff_multiplier", "error invalid_value runtimes.api.retry_policy.base_delay_ms", "error invalid_value runtimes.api.retry_policy.jitter", "error invalid_value runtimes.api.retry_policy.max_attempts", "error invalid_value runtimes.api.retry_policy.retry_on[0]", "error unknown_key runtimes.api.retry_policy.retries", "error wrong_type runtimes.api.retry_policy.enabled"}},
		"retry delays":                    {[]string{api, `runtimes.api.retry_policy={"base_delay_ms":10,"max_delay_ms":9}`}, []string{"error invalid_value runtimes.api.retry_policy.max_delay_ms"}},
		"a window alone asks nothing":     {[]string{api, `runtimes.api.context_window_tokens=1000`}, nil},
		"preflight with default window":   {[]string{api, `runtimes.api.preflight_tokenization={"enabled":true}`}, nil},
		"preflight and a long answer":     {[]string{api, `runtimes.api.preflight_tokenization={"enabled":true}`, `runtimes.api.max_output_tokens=199999`}, []string{"error invalid_value runtimes.api.context_window_tokens"}},
		"preflight that is off":           {[]string{api, `runtimes.api.preflight_tokenization={"enabled":false}`}, nil},
		"preflight without room":          {[]string{api, `runtimes.api.preflight_tokenization={"enabled":true}`, `runtimes.api.context_window_tokens=6144`}, []string{"error invalid_value runtimes.api.context_window_tokens"}},
		"preflight with room":             {[]string{api, `runtimes.api.preflight_tokenization={"enabled":true}`, `runtimes.api.context_window_tokens=6145`}, nil},
		"preflight with margin":           {[]string{api, `runtimes.api.preflight_tokenization={"enabled":true,"safety_margin_tokens":0}`, `runtimes.api.max_output_tokens=1`, `runtimes.api.context_window_tokens=2`}, nil},
		"preflight of openai":             {[]string{api, `runtimes.api.provider="openai"`, `runtimes.api.context_window_tokens=99999`, `runtimes.api.preflight_tokenization={"enabled":true,"tokenizer":"tiktoken"}`}, []string{"error invalid_value runtimes.api.preflight_tokenization.enabled", "error invalid_value runtimes.api.preflight_tokenization.tokenizer"}},
		"mcp":                             {[]string{`runtimes.m={"type":"mcp","command":"node","args":["x"],"cwd":"."}`}, nil},
		"mcp without command":             {[]string{`runtimes.m={"type":"mcp"}`}, []string{"error missing_field runtimes.m.command"}},
		"mcp stdio with url":              {[]string{`runtimes.m={"type":"mcp","command":"x","url":"https://x.test","headers":{"a":"b"}}`}, []string{"error unused_key runtimes.m.headers", "error unused_key runtimes.m.url"}},
		"mcp http":                        {[]string{`runtimes.m={"type":"mcp","transport":"streamable_http","url":"http://x.test/mcp","headers":{"a":"b"}}`}, nil},
		"mcp http with command":           {[]string{`runtimes.m={"type":"mcp","transport":"streamable_http","command":"x","args":[],"cwd":"."}`}, []string{"error missing_field runtimes.m.url", "error unused_key runtimes.m.args", "error unused_key runtimes.m.command", "error unused_key runtimes.m.cwd"}},
		"mcp transport":                   {[]string{`runtimes.m={"type":"mcp","transport":"sse","command":"x"}`}, []string{"error invalid_value runtimes.m.transport"}},
		"mcp tool name":                   {[]string{`runtimes.m={"type":"mcp","command":"x","tool_name":" "}`}, []string{"error invalid_value runtimes.m.tool_name"}},
		"remote":                          {[]string{`runtimes.r={"type":"remote_agent","url":"https://x.test","headers":{"a":1},"timeout_ms":0}`}, []string{"error invalid_value runtimes.r.timeout_ms", "error wrong_type runtimes.r.headers.a"}},
		"remote without url":              {[]string{`runtimes.r={"type":"remote_agent"}`}, []string{"error missing_field runtimes.r.url"}},
		"phase name":                      {[]string{`routing.2nd={}`}, []string{"error invalid_value routing.2nd"}},
		"entry role":                      {[]string{`routing.build.entry_role="devv"`}, []string{"error undeclared_role_reference routing.build.entry_role"}},
		"next role":                       {[]string{`routing.build.allowed_next_roles=["dev","ops","human"]`}, []string{"error undeclared_role_reference routing.build.allowed_next_roles[1]"}},
		"gate":                            {[]string{`routing.build.exit_gate="plan"`}, []string{"error undeclared_gate_reference routing.build.exit_gate"}},
		"gate without gates":              {[]string{`-gates`}, nil},
		"turns 0":                         {[]string{`routing.build.max_concurrent_turns=0`}, []string{"error invalid_value routing.build.max_concurrent_turns"}},
		"turns 4":                         {[]string{`routing.build.max_concurrent_turns=4`}, nil},
		"turns 5":                         {[]string{`routing.build.max_concurrent_turns=5`}, []string{"error invalid_value routing.build.max_concurrent_turns"}},
		"turns 2.5":                       {[]string{`routing.build.max_concurrent_turns=2.5`}, []string{"error wrong_type routing.build.max_concurrent_turns"}},
		"turns 2.0":                       {[]string{`routing.build.max_concurrent_turns=2.0`}, nil},
		"phase timeout":                   {[]string{`routing.build.timeout_minutes=0.5`, `routing.build.timeout_action="stop"`}, []string{"error invalid_value routing.build.timeout_action", "error invalid_value routing.build.timeout_minutes"}},
		"timeout action alone":            {[]string{`routing.build.timeout_action="skip_phase"`}, []string{"warning unused_key routing.build.timeout_action"}},
		"gate file leads out":             {[]string{`gates.plan_ok.requires_files=["../x","/etc/passwd","a/../b","c:/x","a\\b","a..b/c"]`}, []string{"error invalid_value gates.plan_ok.requires_files[0]", "error invalid_value gates.plan_ok.requires_files[1]", "error invalid_value gates.plan_ok.requires_files[2]", "error invalid_value gates.plan_ok.requires_files[3]", "error invalid_value gates.plan_ok.requires_files[4]"}},
		"gate actions":                    {[]string{`gates.plan_ok.gate_actions=[{"run":"make","timeout_ms":1000}]`}, nil},
		"gate actions nobody starts":      {[]string{`gates.plan_ok.gate_actions=[{"run":"make"}]`, `gates.plan_ok.requires_human_approval=false`}, []string{"error invalid_value gates.plan_ok.gate_actions"}},
		"gate action bounds":              {[]string{`gates.plan_ok.gate_actions=[{"timeout_ms":999},{"run":"x","timeout_ms":3600001}]`}, []string{"error invalid_value gates.plan_ok.gate_actions[0].timeout_ms", "error invalid_value gates.plan_ok.gate_actions[1].timeout_ms", "error missing_field gates.plan_ok.gate_actions[0].run"}},
		"no gate actions":                 {[]string{`gates.plan_ok.gate_actions=[]`}, []string{"error invalid_value gates.plan_ok.gate_actions"}},
		"hook":                            {[]string{`hooks={"before_gate":[{"name":"a","type":"process","command":["x"],"timeout_ms":100,"mode":"blocking","env":{"A":"b"}}]}`}, nil},
		"hook phase":                      {[]string{`hooks={"before_gates":[]}`}, []string{"error unknown_key hooks.before_gates"}},
		"empty hook":                      {[]string{`hooks={"before_gate":[{}]}`}, []string{"error missing_field hooks.before_gate[0].mode", "error missing_field hooks.before_gate[0].name", "error missing_field hooks.before_gate[0].timeout_ms", "error missing_field hooks.before_gate[0].type"}},
		"hook bounds":                     {[]string{`hooks={"before_gate":[{"name":"A b","type":"process","timeout_ms":30001,"mode":"x"}]}`}, []string{"error invalid_value hooks.before_gate[0].mode", "error invalid_value hooks.before_gate[0].name", "error invalid_value hooks.before_gate[0].timeout_ms", "error missing_field hooks.before_gate[0].command"}},
		"nine hooks":                      {[]string{`hooks={"before_gate":[` + strings.TrimSuffix(strings.Repeat(`{"name":"n","type":"process","command":["x"],"timeout_ms":100,"mode":"advisory"},`, 9), ",") + `]}`}, append([]string{"error invalid_value hooks.before_gate"}, sequence("error invalid_value hooks.before_gate[%d].name", 1, 8)...)},
		"advisory phases":                 {[]string{`hooks={"after_acceptance":[{"name":"a","type":"process","command":["x"],"timeout_ms":100,"mode":"blocking"}]}`}, []string{"error invalid_value hooks.after_acceptance[0].mode"}},
		"http hook":                       {[]string{`hooks={"before_gate":[{"name":"a","type":"http","url":"ftp://x","method":"GET","timeout_ms":100,"mode":"advisory"}]}`}, []string{"error invalid_value hooks.before_gate[0].method", "error invalid_value hooks.before_gate[0].url"}},
		"http hook without url":           {[]string{`hooks={"before_gate":[{"name":"a","type":"http","command":["x"],"timeout_ms":100,"mode":"advisory"}]}`}, []string{"error missing_field hooks.before_gate[0].url", "warning unused_key hooks.before_gate[0].command"}},
		"notifications":                   {[]string{`notifications={"webhooks":[{"name":"n","url":"x","events":["run_blocked","oops"],"timeout_ms":99}],"approval_sla":{"reminder_after_seconds":[300,300,299]},"mail":1}`}, []string{"error invalid_value notifications.approval_sla.reminder_after_seconds[1]", "error invalid_value notifications.approval_sla.reminder_after_seconds[2]", "error invalid_value notifications.approval_sla.reminder_after_seconds[2]", "error invalid_value notifications.webhooks[0].events[1]", "error invalid_value notifications.webhooks[0].timeout_ms", "error invalid_value notifications.webhooks[0].url", "error unknown_key notifications.mail"}},
		"schedule":                        {[]string{`schedules={"n":{"every_minutes":0,"initial_role":"ops"}}`}, []string{"error invalid_value schedules.n.every_minutes", "error undeclared_role_reference schedules.n.initial_role"}},
		"null budget":                     {[]string{`budget=null`}, nil},
		"budget":                          {[]string{`budget={"per_turn_max_usd":0,"per_run_max_usd":-1,"on_exceed":"stop","cost_rates":{"m":{"input_per_1m":-1}}}`}, []string{"error invalid_value budget.cost_rates.m.input_per_1m", "error invalid_value budget.on_exceed", "error invalid_value budget.per_run_max_usd", "error invalid_value budget.per_turn_max_usd"}},
		"turn above run":                  {[]string{`budget={"per_turn_max_usd":3,"per_run_max_usd":2}`}, []string{"error invalid_value budget.per_turn_max_usd"}},
		"turn as run":                     {[]string{`budget={"per_turn_max_usd":2,"per_run_max_usd":2}`}, nil},
		"huge number":                     {[]string{`budget={"per_turn_max_usd":1e999}`}, []string{"error wrong_type budget.per_turn_max_usd"}},
		"rules":                           {[]string{`rules={"challenge_required":"yes","max_turn_retries":0}`}, []string{"error invalid_value rules.max_turn_retries", "error wrong_type rules.challenge_required"}},
		"timeouts":                        {[]string{`timeouts={"per_turn_minutes":0.9,"action":"skip_phase"}`}, []string{"error invalid_value timeouts.action", "error invalid_value timeouts.per_turn_minutes"}},
		"policy":                          {[]string{`policies=[{"id":"a","rule":"max_total_turns","action":"block","params":{"limit":1}}]`}, nil},
		"policies":                        {[]string{`policies=[{"id":"1","rule":"x","action":"y"},{"id":"a","rule":"max_total_turns","action":"block"},{"id":"a","rule":"max_cost_per_turn","action":"warn","params":{"limit_usd":0}},{"id":"b","rule":"require_status","action":"warn","params":{"allowed":["done"]},"scope":{"phases":["x"],"roles":["y"]}},{"id":"c","rule":"require_status","action":"warn","params":[]}]`}, []string{"error invalid_value policies[0].action", "error invalid_value policies[0].id", "error invalid_value policies[0].rule", "error invalid_value policies[1].params.limit", "error invalid_value policies[2].id", "error invalid_value policies[2].params.limit_usd", "error invalid_value policies[3].params.allowed[0]", "error wrong_type policies[4].params", "warning undeclared_phase_reference policies[3].scope.phases[0]", "warning undeclared_role_reference policies[3].scope.roles[0]"}},
		"approval":                        {[]string{`approval_policy={"phase_transitions":{"default":"ask","rules":[{"from_phase":"x","to_phase":"build","action":"auto_approve","when":{"roles_participated":["ops"],"credentialed_gate":true}},{}]},"run_completion":{"action":"auto"}}`}, []string{"error invalid_value approval_policy.phase_transitions.default", "error invalid_value approval_policy.phase_transitions.rules[0].when.credentialed_gate", "error invalid_value approval_policy.run_completion.action", "error missing_field approval_policy.phase_transitions.rules[1].action", "error undeclared_phase_reference approval_policy.phase_transitions.rules[0].from_phase", "warning undeclared_role_reference approval_policy.phase_transitions.rules[0].when.roles_participated[0]"}},
		"kit":                             {[]string{`workflow_kit={"phases":{"planning":{"template":"planning-default","artifacts":[{"path":"a.md","owned_by":"pm","semantics":"section_check","semantics_config":{"required_sections":["## A"]}}]}}}`}, nil},
		"kit faults":                      {[]string{`workflow_kit={"phases":{"planning":{},"build":{"template":"x","artifacts":[{"path":"../a"},{"path":"b","semantics":"section_check"},{"path":"b","owned_by":"ops","semantics":"x"}]},"ship":{"artifacts":[]}}}`}, []string{"error invalid_value workflow_kit.phases.build.artifacts[0].path", "error invalid_value workflow_kit.phases.build.artifacts[2].path", "error invalid_value workflow_kit.phases.build.artifacts[2].semantics", "error invalid_value workflow_kit.phases.build.template", "error missing_field workflow_kit.phases.build.artifacts[1].semantics_config.required_sections", "error missing_field workflow_kit.phases.planning.artifacts", "error undeclared_role_reference workflow_kit.phases.build.artifacts[2].owned_by", "warning undeclared_phase_reference workflow_kit.phases.ship"}},
		"run loop":                        {[]string{`run_loop={"max_turns":0,"startup_watchdog_ms":1.5,"stale":1}`}, []string{"error invalid_value run_loop.max_turns", "error wrong_type run_loop.startup_watchdog_ms", "warning unknown_key run_loop.stale"}},
		"prompts":                         {[]string{`prompts={"dev":"../x","ops":"x.md"}`}, []string{"error invalid_value prompts.dev", "warning undeclared_role_reference prompts.ops"}},
		"workspace":                       {[]string{`workspace="tree"`}, []string{"error invalid_value workspace"}},
		"worktree":                        {[]string{`workspace="worktree"`}, nil},
		"coverage mode":                   {[]string{`intent_coverage_mode="x"`, `gate_semantic_coverage_mode="off"`}, []string{"error invalid_value intent_coverage_mode"}},
		"role is a list":                  {[]string{`roles.dev=[]`, `routing={}`}, []string{"error wrong_type roles.dev"}},
		"role is null":                    {[]string{`roles.dev=null`, `routing={}`}, []string{"error wrong_type roles.dev"}},
		"roles is a text":                 {[]string{`roles="x"`, `routing={}`}, []string{"error wrong_type roles"}},
		"null in a list":                  {[]string{`routing.build.allowed_next_roles=["dev",null]`}, []string{"error wrong_type routing.build.allowed_next_roles[1]"}},
		"first edition manual":            {[]string{`roles.old={"adapter":"manual","adapter_config":{"poll_interval_ms":2000,"timeout_ms":1200000}}`}, nil},
		"first edition manual bounds":     {[]string{`roles.old={"adapter":"manual","adapter_config":{"poll_interval_ms":0,"timeout_ms":"x","poll":1}}`}, []string{"error invalid_value roles.old.adapter_config.poll_interval_ms", "error wrong_type roles.old.adapter_config.timeout_ms", "warning unknown_key roles.old.adapter_config.poll"}},
		"first edition local_cli":         {[]string{`roles.old={"adapter":"local_cli","adapter_config":{"command":"claude","args":["--print"],"prompt_transport":"file","timeout_ms":600000,"env":{"K":"${K}"}}}`}, nil},
		"first edition transport":         {[]string{`roles.old={"adapter":"local_cli","adapter_config":{"command":"claude","prompt_transport":"argv","env":{"K":1}}}`}, []string{"error invalid_value roles.old.adapter_config.prompt_transport", "error wrong_type roles.old.adapter_config.env.K"}},
		"first edition without settings":  {[]string{`roles.old={"adapter":"local_cli"}`}, []string{"error missing_field roles.old.adapter_config.command"}},
		"first edition settings of text":  {[]string{`roles.old={"adapter":"local_cli","adapter_config":"x"}`}, []string{"error wrong_type roles.old.adapter_config"}},
		"first edition beside a runtime":  {[]string{`roles.old={"adapter":"manual","runtime":"cli"}`}, []string{"warning unused_key roles.old.runtime"}},
		"first edition api":               {[]string{`roles.old={"adapter":"api_proxy","adapter_config":{"provider":"anthropic","model":"m","max_tokens":8192,"temperature":0.2,"api_key_env":"K","timeout_ms":1,"max_retries":5}}`}, nil},
		"first edition api faults":        {[]string{`roles.old={"adapter":"api_proxy","adapter_config":{"provider":"x","model":"m","temperature":3,"max_retries":-1}}`}, []string{"error invalid_value roles.old.adapter_config.max_retries", "error invalid_value roles.old.adapter_config.provider", "error invalid_value roles.old.adapter_config.temperature", "error missing_field roles.old.adapter_config.api_key_env"}},
		"first edition api elsewhere":     {[]string{`roles.old={"adapter":"api_proxy","adapter_config":{"provider":"custom","model":"m","base_url":"https://x.test/v1","api_key_env":"K"}}`}, nil},
		"first edition api authoritative": {[]string{`roles.old={"adapter":"api_proxy","write_authority":"authoritative","adapter_config":{"provider":"openai","model":"m","api_key_env":"K"}}`}, []string{"error illegal_runtime roles.old.adapter"}},
		"custom adapter":                  {[]string{`adapters={"mine":{"module":"./m.js"}}`, `roles.old={"adapter":"mine","adapter_config":{"x":1}}`}, nil},
		"adapter as type":                 {[]string{`adapters={"mine":{"command":["./m"],"cwd":"x","env":{"A":"b"},"timeout_ms":5}}`, `runtimes.cli={"type":"mine","timeout_ms":9,"adapter_config":{"x":1}}`}, nil},
		"adapter and keys of others":      {[]string{`adapters={"mine":{"module":"m.js"}}`, `runtimes.cli={"type":"mine","agent":"claude"}`, `runtimes.b={"type":"manual","adapter_config":{}}`}, []string{"warning unused_key runtimes.b.adapter_config", "warning unused_key runtimes.cli.agent"}},
		"adapter of nothing":              {[]string{`adapters={"mine":{}}`}, []string{"error missing_field adapters.mine.module"}},
		"adapter of both":                 {[]string{`adapters={"mine":{"module":"m.js","command":["m"]}}`}, []string{"error invalid_value adapters.mine"}},
		"adapter outside":                 {[]string{`adapters={"mine":{"module":"../m.js"}}`}, []string{"error invalid_value adapters.mine.module"}},
		"adapter with a built-in name":    {[]string{`adapters={"mcp":{"module":"m.js"}}`}, []string{"error invalid_value adapters.mcp"}},
		"adapter of another kind":         {[]string{`adapters={"mine":"./m.js"}`}, []string{"error wrong_type adapters.mine"}},
		"undeclared adapter":              {[]string{`roles.old={"adapter":"mine"}`}, []string{"error undeclared_adapter_reference roles.old.adapter"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			text := edit(t, base, c.edits...)
			_, problems := Decode(text)
			got := kinds(problems)
			slices.Sort(c.want)
			if !slices.Equal(got, c.want) {
				t.Errorf("got\n  %s\nwant\n  %s", strings.Join(got, "\n  "), strings.Join(c.want, "\n  "))
			}
			for _, p := range problems {
				if p.Message == "" || p.Line < 1 || p.Column < 1 {
					t.Errorf("%+v has no message or place", p)
				}
			}
		})
	}
}

func sequence(format string, from, to int) []string {
	var list []string
	for i := from; i <= to; i++ {
		list = append(list, fmt.Sprintf(format, i))
	}
	return list
}

// TestPlaces holds line and column of what only text can have.
func TestPlaces(t *testing.T) {
	t.Parallel()
	deep := strings.Repeat("[", 100) + strings.Repeat("]", 100)
	for name, c := range map[string]struct {
		text         string
		kind, field  string
		line, column int
		message      string
	}{
		"mark":            {"\xef\xbb\xbf{}", SyntaxInvalid, "", 1, 1, "byte order mark"},
		"not UTF-8":       {"{\n \"a\xff\": 1}", SyntaxInvalid, "", 2, 4, "UTF-8"},
		"empty":           {" \n ", SyntaxInvalid, "", 1, 1, "empty"},
		"a list":          {"\n []", SyntaxInvalid, "", 2, 2, "an array, not an object"},
		"a number":        {"1", SyntaxInvalid, "", 1, 1, "a number"},
		"no JSON":         {"{\n  \"a\": tru }", SyntaxInvalid, "", 2, 11, "not JSON"},
		"comma":           {"{\n  \"é\": 1,\n}", SyntaxInvalid, "", 3, 1, "extra comma"},
		"comment":         {"{\n  // hi\n}", SyntaxInvalid, "", 2, 3, "comments"},
		"cut off":         {"{\n  \"a\": {", SyntaxInvalid, "", 2, 9, "unexpected end"},
		"two documents":   {"{}\n{}", SyntaxInvalid, "", 2, 1, "after top-level"},
		"deep":            {"{\"a\": " + deep + "}", SyntaxInvalid, "", 1, 7 + maxDepth - 1, "64 levels"},
		"NUL":             {"{\"a\x00\":1}", SyntaxInvalid, "", 1, 4, "not JSON"},
		"doubled key":     {"{\n \"roles\": {\n  \"a\": {},\n  \"a\": {}\n }\n}", DuplicateKey, "roles.a", 4, 3, "twice"},
		"doubled top":     {"{\"files\":1,\n \"files\":2}", DuplicateKey, "files", 2, 2, "twice"},
		"third kind":      {"{\"version\": 3,\n \"project\": \"x\"}", WrongSchemaVersion, "version", 1, 2, "older kind"},
		"wrong type":      {"{\n \"project\": {\n  \"id\": 7}}", WrongType, "project.id", 3, 3, "is a number, not a string"},
		"dotted key":      {"{\n\"budget\": {\"cost_rates\": {\n \"gpt-4.1\": {\"input_per_1m\": \"x\", \"output_per_1m\": 1}}}}", WrongType, `budget.cost_rates."gpt-4.1".input_per_1m`, 3, 14, "without quotes"},
		"missing in role": {"{\n \"roles\": {\n  \"a\": {\"title\": \"t\"}}}", MissingField, "roles.a.mandate", 3, 3, "is missing"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, problems := Decode([]byte(c.text))
			i := slices.IndexFunc(problems, func(p Problem) bool { return p.Type == c.kind && p.Field == c.field })
			if i < 0 {
				t.Fatalf("no %s of %q in %v", c.kind, c.field, problems)
			}
			p := problems[i]
			if p.Line != c.line || p.Column != c.column || !strings.Contains(p.String(), c.message) {
				t.Errorf("%s, want line %d, column %d, %q", p, c.line, c.column, c.message)
			}
		})
	}
}

func TestEveryProblemIsListedInOrder(t *testing.T) {
	t.Parallel()
	text := "{\n\"schema_version\": \"2\",\n\"project\": {},\n\"roles\": {\"dev\": {\"runtime\": \"x\"}},\n\"routing\": {\"a\": {\"entry_role\": \"y\"}}\n}"
	_, problems := Decode([]byte(text))
	lines := []int{}
	for _, p := range problems {
		lines = append(lines, p.Line)
	}
	if len(problems) != 8 || !slices.IsSorted(lines) {
		t.Errorf("%d problems on lines %v: %v", len(problems), lines, problems)
	}
}

func TestHintsNameTheNearest(t *testing.T) {
	t.Parallel()
	for edit1, want := range map[string]string{
		`polices=[]`:                        "policies",
		`roles.dev.runtme="x"`:              "runtime",
		`roles.dev.runtime="clu"`:           "cli",
		`roles.dev.write_authority="owner"`: "authoritative, proposed, review_only",
		`routing.build.entry_role="devs"`:   "dev",
		`routing.build.exit_gate="planok"`:  "plan_ok",
		`runtimes.cli.type="local-cli"`:     "did you mean local_cli",
	} {
		_, problems := Decode(edit(t, base, edit1))
		if len(problems) != 1 || !strings.Contains(problems[0].Hint, want) {
			t.Errorf("%s: %v, want %q", edit1, problems, want)
		}
	}
	_, problems := Decode(edit(t, base, `zzzzzzzz=1`))
	if len(problems) != 1 || problems[0].Hint != "" {
		t.Errorf("a guess out of nothing: %v", problems)
	}
}

func TestUnknownKeysAreKept(t *testing.T) {
	t.Parallel()
	c, _ := Decode(edit(t, base, `extra={"a":1}`, `roles.dev.color="red"`))
	dev := c.Roles.At("dev")
	if string(c.Extra.At("extra")) != `{"a":1}` || string(dev.Extra.At("color")) != `"red"` {
		t.Errorf("%v %v", c.Extra, dev.Extra)
	}
	out, err := protocol.Marshal(Normalize(c))
	if err != nil || !bytes.Contains(out, []byte(`"color":"red"`)) || !bytes.Contains(out, []byte(`"extra":{"a":1}`)) {
		t.Errorf("%s %v", out, err)
	}
}

func TestWholeNumbersWithAPoint(t *testing.T) {
	t.Parallel()
	c, problems := Decode([]byte(strings.Replace(base, `"entry_role": "dev"`, `"entry_role": "dev", "max_concurrent_turns": 2.0`, 1)))
	if p, _ := c.Phase("build"); len(problems) > 0 || p.Concurrency() != 2 {
		t.Errorf("%v %d", problems, p.Concurrency())
	}
	c, problems = Decode([]byte(strings.Replace(base, `"workflow_kit"`, `"rules": {"max_turn_retries": 3e0}, "workflow_kit"`, 1)))
	if len(problems) > 0 || c.Rules.Attempts() != 3 {
		t.Errorf("%v %d", problems, c.Rules.Attempts())
	}
}

func TestKitNullOptsOut(t *testing.T) {
	t.Parallel()
	c, _ := Decode(edit(t, base, `workflow_kit=null`))
	if n := Normalize(c); n.WorkflowKit == nil || n.WorkflowKit.Phases.Len() != 0 {
		t.Errorf("%+v", n.WorkflowKit)
	}
}

func FuzzDecode(f *testing.F) {
	f.Add([]byte(base))
	f.Add([]byte(`{"roles":{"a":{"adapter":"local_cli","adapter_config":{"env":{"A":"B"}}}}}`))
	f.Add([]byte(`{"schema_version":4,"roles":{"a":null},"hooks":{"before_gate":[null,{}]},"policies":[null]}`))
	if data, err := os.ReadFile("../../project/testdata/reference/project/agentxchain.json"); err == nil {
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		c, problems := Decode(data)
		if c == nil {
			if len(Errors(problems)) == 0 {
				t.Fatal("refused without an error")
			}
			return
		}
		n := Normalize(c)
		Admission(c)
		Unbuilt(c)
		if len(Errors(problems)) > 0 {
			return
		}
		first, err := protocol.Marshal(n)
		if err != nil {
			t.Fatal(err)
		}
		second, err := protocol.Marshal(Normalize(n))
		if err != nil || !bytes.Equal(first, second) {
			t.Fatalf("normalizing twice changes it:\n%s\n%s", first, second)
		}
		if bad := Errors(Check(c)); len(bad) > 0 {
			t.Fatalf("the text was fine, the value is not: %v", bad)
		}
	})
}

// TestLargeConfigurations ends soon only if no check looks at everything for everything.
func TestLargeConfigurations(t *testing.T) {
	t.Parallel()
	const n = 2000
	var b, list strings.Builder
	for i := range n {
		fmt.Fprintf(&b, `"r%d":{"title":"t","mandate":"m","write_authority":"proposed","runtime":"none%d"},`, i, i)
		fmt.Fprintf(&list, `"x%d","r%d",`, i, i)
	}
	c, problems := Decode([]byte(`{"schema_version":"1.0","project":{"id":"p","name":"P"},"roles":{` + strings.TrimSuffix(b.String(), ",") +
		`},"routing":{"a":{"allowed_next_roles":[` + strings.TrimSuffix(list.String(), ",") + `]}}}`))
	if len(problems) != 2*n {
		t.Errorf("%d problems, want %d", len(problems), 2*n)
	}
	Admission(c)
	Unbuilt(c)
	var phases strings.Builder
	for i := range n {
		fmt.Fprintf(&phases, `"p%d":{"artifacts":[]},`, i)
	}
	text := strings.TrimSuffix(phases.String(), ",")
	if _, problems = Decode([]byte(strings.Replace(base, `"workflow_kit": {}`, `"workflow_kit":{"phases":{`+text+`}}`, 1))); len(problems) != n {
		t.Errorf("%d problems, want %d", len(problems), n)
	}
}
