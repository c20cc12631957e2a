package charter

import (
	"iter"
	"slices"
	"strings"

	"github.com/drawbar/drawbar/govern/protocol"
	"github.com/drawbar/drawbar/internal/base/shape"
)

// RuntimeTypes are the types of runtimes; the last is Drawbar's own.
func RuntimeTypes() []string {
	return []string{protocol.RuntimeManual, protocol.RuntimeLocalCLI, protocol.RuntimeAPIProxy, protocol.RuntimeMCP,
		protocol.RuntimeRemoteAgent, protocol.RuntimeAgent}
}

// Providers are the providers of api_proxy.
func Providers() []string { return []string{"anthropic", "openai", "google", "ollama"} }

// Adapters are the built-in adapters of the first edition.
func Adapters() []string {
	return []string{protocol.RuntimeManual, protocol.RuntimeLocalCLI, protocol.RuntimeAPIProxy}
}

func runtimeNode() shape.Node {
	return object("a runtime; the relevant keys depend on type",
		must("type", str("kind of runtime: "+strings.Join(RuntimeTypes(), ", ")+", or a name in adapters")),
		key("capabilities", object("capabilities that differ from those of the type",
			key("can_write_files", one("how it writes files", "direct", "proposal_only", "tool_defined", "unknown")),
			key("proposal_support", one("whether it returns proposals", "none", "optional", "native", "tool_defined", "unknown")),
			key("workflow_artifact_ownership", one("whether its roles may own files of the workflow kit", "yes", "no", "proposal_apply_required", "tool_defined", "unknown")),
		)),
		key("command", words("local_cli, mcp: the program; a list includes its arguments")),
		key("args", listOfTexts("local_cli, mcp: arguments if command is a string")),
		key("cwd", str("local_cli, mcp: working folder, relative to the project (absent: where the turn works)")),
		key("prompt_transport", one("local_cli: how the prompt is passed (absent: argv if the command contains {prompt}, else dispatch_bundle_only)",
			protocol.TransportArgv, protocol.TransportStdin, protocol.TransportBundleOnly)),
		key("startup_watchdog_ms", whole("local_cli, agent: as in run_loop, in milliseconds (absent: that of run_loop)", 1)),
		key("startup_heartbeat_ms", whole("local_cli, agent: as in run_loop, in milliseconds (absent: that of run_loop)", 1)),
		key("liveness_heartbeat_ms", whole("local_cli, agent: as in run_loop, in milliseconds (absent: that of run_loop)", 1)),
		key("env", texts("local_cli, agent, mcp over stdio: additional variables; ${VAR} is replaced from the environment and never recorded")),
		key("timeout_ms", whole("time limit of a turn (manual, local_cli, agent, mcp, custom adapters) or a request (remote_agent: 120000 if absent) in milliseconds (absent: timeouts, else 1200000)", 1)),
		key("agent", named("agent: an adapter of Drawbar, as in drawbar agents", agentPattern)),
		key("model", str("agent, api_proxy: the model (absent: the agent's default; api_proxy requires it)")),
		key("session", one("agent: whether conversations continue per role or start anew per turn", "role", "turn").Def("turn")),
		key("approve", one("agent: handling of permission requests: a person at the terminal is asked (the turn is blocked if there is none), "+
			"everything is allowed, everything is refused", protocol.ApprovePrompt, protocol.ApproveYolo, protocol.ApproveDeny).Def(protocol.ApprovePrompt)),
		key("result", one("agent: whether the result is a file that it writes, or structured output", "staged", "structured").Def("staged")),
		key("thinking", one("agent: reasoning effort (absent: the agent's default)", "low", "medium", "high", "max")),
		key("sandbox", one("agent: its own sandbox mode (absent: the agent's default)", "read-only", "workspace-write", "none")),
		key("budget_usd", dollars("agent: cost limit of a turn in US dollars (absent: none)")),
		key("idle_timeout_ms", whole("agent: longest silence in milliseconds (absent: stale_turn_threshold_ms of run_loop)", 1)),
		key("poll_interval_ms", whole("manual: interval at which the staged file is checked, in milliseconds (absent: 2000)", 1)),
		key("provider", one("api_proxy: provider of the model", Providers()...)),
		key("auth_env", str("api_proxy: name of the variable with the API key; not needed for ollama")),
		key("base_url", str("api_proxy: complete endpoint URL, instead of the provider's")),
		key("max_output_tokens", whole("api_proxy: maximum length of an answer", 1).Def(4096)),
		key("timeout_seconds", shape.Above("api_proxy: time limit of a request", 0).Def(120)),
		key("context_window_tokens", whole("api_proxy: size of the model's context window, for preflight_tokenization", 1).Def(200000)),
		key("retry_policy", *retryNode()),
		key("preflight_tokenization", *preflightNode()),
		key("transport", one("mcp: transport to the server", "stdio", "streamable_http").Def("stdio")),
		key("tool_name", str("mcp: tool that performs a turn").Def("agentxchain_turn")),
		key("url", str("mcp, remote_agent: http or https URL")),
		key("headers", texts("mcp, remote_agent: request headers, sent as they are")),
		key("adapter_config", raw("a custom adapter: its own settings, part of the bundle that its dispatch receives")),
	)
}

func customNode() shape.Node {
	return object("a custom adapter: either module or command",
		key("module", str("JavaScript module (ESM or CommonJS) with the adapter's class, relative to the project; it runs in Node")),
		key("command", words("program that speaks the protocol of adapters; a list includes its arguments")),
		key("cwd", str("working folder, relative to the project (absent: where the turn works)")),
		key("env", texts("additional variables; ${VAR} is replaced from the environment and never recorded")),
		key("timeout_ms", whole("time limit of a turn in milliseconds, unless its runtime states one (absent: timeouts, else 1200000)", 1)),
	)
}

// customKeys are the keys that apply to a runtime whose type is a custom adapter.
func customKeys() []string { return []string{"adapter_config", "timeout_ms"} }

func listOfTexts(doc string) shape.Node { return list(doc, str("").AnyText()) }

func retryNode() *shape.Node {
	n := closed("api_proxy: retries after transient errors",
		key("enabled", flag("enabled only if true")),
		key("max_attempts", whole("total attempts", 1).Def(3)),
		key("base_delay_ms", shape.AtLeast("first pause", 0).Def(1000)),
		key("max_delay_ms", shape.AtLeast("longest pause", 0).Def(8000)),
		key("backoff_multiplier", shape.Above("factor between delays", 0).Def(2)),
		key("jitter", one("whether delays vary randomly", "none", "full").Def("full")),
		key("retry_on", list("retried error classes", one("a class", "rate_limited", "network_failure", "timeout", "response_parse_failure",
			"turn_result_extraction_failure", "unknown_api_error", "provider_overloaded"))),
	)
	return &n
}

func preflightNode() *shape.Node {
	n := closed("api_proxy: whether the prompt's tokens are estimated before the request, and its context trimmed to fit",
		key("enabled", flag("whether it is enabled")),
		key("tokenizer", one("how", "provider_local")),
		key("safety_margin_tokens", whole("tokens to keep free", 0).Def(2048)),
	)
	return &n
}

// adapterNode has the settings of a first-edition role.
func adapterNode(adapter string) *shape.Node {
	var n shape.Node
	switch adapter {
	case protocol.RuntimeManual:
		n = object("",
			key("poll_interval_ms", whole("interval at which the staged file is checked", 1).Def(2000)),
			key("timeout_ms", whole("how long to wait for it", 1).Def(1200000)),
		)
	case protocol.RuntimeLocalCLI:
		n = object("",
			must("command", words("the program")),
			key("args", listOfTexts("its arguments")),
			key("prompt_transport", one("how the prompt is passed", protocol.TransportStdin, protocol.TransportFile, protocol.TransportArg).Def(protocol.TransportStdin)),
			key("timeout_ms", whole("time limit of a turn", 1)),
			key("env", texts("additional variables; ${VAR} is replaced from the environment")),
			key("cwd", str("working folder, relative to the project")),
		)
	default:
		n = object("",
			must("provider", str("anthropic, openai, or custom with base_url")),
			must("model", str("the model")),
			key("max_tokens", whole("maximum length of an answer", 1)),
			key("temperature", shape.AtLeast("", 0).AtMost(2)),
			key("api_key_env", str("name of the variable with the API key")),
			key("timeout_ms", whole("time limit of a request", 1)),
			key("max_retries", whole("retries", 0)),
			key("base_url", str("endpoint of an OpenAI-compatible API")),
		)
	}
	return &n
}

// keysOf are the keys that apply to a type, besides type and capabilities.
func keysOf(runtimeType string) []string {
	switch runtimeType {
	case protocol.RuntimeManual:
		return []string{"poll_interval_ms", "timeout_ms"}
	case protocol.RuntimeLocalCLI:
		return []string{"command", "args", "cwd", "prompt_transport", "startup_watchdog_ms", "startup_heartbeat_ms",
			"liveness_heartbeat_ms", "env", "timeout_ms"}
	case protocol.RuntimeAgent:
		return []string{"agent", "model", "session", "approve", "result", "thinking", "sandbox", "budget_usd", "idle_timeout_ms", "env", "timeout_ms",
			"startup_watchdog_ms", "startup_heartbeat_ms", "liveness_heartbeat_ms"}
	case protocol.RuntimeAPIProxy:
		return []string{"provider", "model", "auth_env", "base_url", "max_output_tokens", "timeout_seconds", "context_window_tokens",
			"retry_policy", "preflight_tokenization"}
	case protocol.RuntimeMCP:
		return []string{"transport", "tool_name", "command", "args", "cwd", "url", "headers", "env", "timeout_ms"}
	case protocol.RuntimeRemoteAgent:
		return []string{"url", "headers", "timeout_ms"}
	}
	return nil
}

// typesOf are the types to which a key applies.
func typesOf(key string) []string {
	return slices.DeleteFunc(RuntimeTypes(), func(t string) bool { return !slices.Contains(keysOf(t), key) })
}

// RuntimeNeeds yields the types with the keys that each always requires.
func RuntimeNeeds() iter.Seq2[string, []string] {
	return func(yield func(string, []string) bool) {
		_ = yield(protocol.RuntimeAgent, []string{"agent"}) && yield(protocol.RuntimeAPIProxy, []string{"provider", "model"}) &&
			yield(protocol.RuntimeRemoteAgent, []string{"url"})
	}
}
