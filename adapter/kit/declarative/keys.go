package declarative

import (
	"slices"
	"sync"

	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/internal/base/shape"
)

// NamePattern is the form of an agent's name.
const NamePattern = `^[a-z][a-z0-9-]{0,63}$`

// The output formats, and the ways to pass a prompt.
const (
	formatText   = "text"
	formatLines  = "json-lines"
	formatStream = "stream-json"
	formatACP    = "acp"
	// formatDrawbar is that of another Drawbar, see package adapter/external.
	formatDrawbar = "drawbar"

	promptStdin    = "stdin"
	promptFile     = "file"
	promptArgument = "argument"
)

const (
	variablePattern = `^[A-Za-z_][A-Za-z0-9_]*$`
	pathPattern     = `^[^.]+(\.[^.]+)*$`
	urlPattern      = `^https?://`
	hostPattern     = `^[A-Za-z0-9_.@:/\[\]%][A-Za-z0-9_.@:/\[\]%-]*$`
	programPattern  = `^[A-Za-z0-9_./~][A-Za-z0-9_./~+:@%=-]*$`
	maxList         = 200
)

// Keys is the table of an entry. It is shared and must not be changed.
func Keys() *shape.Node { return keys() }

var keys = sync.OnceValue(func() *shape.Node {
	n := shape.ClosedOf("an agent, described without code",
		shape.Opt("displayName", shape.Text("name for people (absent: the agent's name)")),
		shape.Opt("docs", shape.Named("address of the vendor's documentation", urlPattern)),
		shape.Opt("command", wanted(arguments("program, then its arguments; no shell. The program is a name on PATH or an absolute path; in a project, "+
			"also a path in the project. In an argument, {prompt}, {prompt_file} and {cwd} are replaced; the argument {options} stands for the "+
			"arguments of options (absent: they come last). Required without ssh and api").AtLeastItems(1), `as in ["my-agent", "--print"]`)),
		shape.Opt("prompt", shape.One("how the program gets the prompt: on standard input, as the file {prompt_file}, or as the argument {prompt}; "+
			"acp has its own way", promptStdin, promptFile, promptArgument).Def(promptStdin)),
		shape.Opt("output", outputNode()),
		shape.Opt("options", optionsNode()),
		shape.Opt("api", apiNode()),
		shape.Opt("ssh", shape.ClosedOf("machine whose Drawbar runs the agent, instead of command; output.format is drawbar then",
			shape.Must("host", shape.Named("host, user@host, or a name of the configuration of ssh", hostPattern)),
			shape.Opt("port", shape.Within("port", 1, 65535)),
			shape.Opt("identityFile", shape.Named("file of the private key", `^[^-]`)),
			shape.Opt("program", shape.Named("path of drawbar there", programPattern).Def("drawbar")))),
		shape.Opt("agent", shape.Named("ssh: name of the agent there", NamePattern)),
		shape.Opt("directory", shape.Text("drawbar: working directory on the other side, where {cwd} is that of the run here (absent: the one in "+
			"which the command starts there)")),
		shape.Opt("environment", shape.MapOf("variables that are set for the program", variablePattern, shape.Text("").AnyText())),
		shape.Opt("login", loginNode()),
		shape.Opt("version", shape.ClosedOf("how the program states its version, and which versions are supported",
			shape.Must("args", arguments("arguments that print the version").AtLeastItems(1)),
			shape.Opt("min", shape.Text("lowest supported version")),
			shape.Opt("tested", texts("tested versions")))),
		shape.Opt("install", shape.ListOf("ways to install the program", installNode())),
		shape.Opt("hostSignals", shape.ListOf("variables that the program sets for its child processes, and nobody else does; never a login",
			shape.Named("", variablePattern))),
		shape.Opt("errors", shape.ListOf("meanings of exit codes and messages; the first rule that matches decides", errorNode())),
		shape.Opt("capabilities", capabilitiesNode()),
		shape.Opt("notes", texts("remarks on the capabilities")),
		shape.Opt("documented", shape.Named("address of the document that the entry follows, if it was never tried with the program", urlPattern)),
		shape.Opt("defaultModel", shape.Text("model of runs that name none, for prices")),
	)
	return &n
})

// arguments is a list of words of a command line, which may be empty words.
func arguments(doc string) shape.Node { return limited(shape.ListOf(doc, shape.Text("").AnyText())) }

func texts(doc string) shape.Node { return limited(shape.ListOf(doc, shape.Text(""))) }

func wanted(n shape.Node, want string) shape.Node { n.Want = want; return n }

func limited(n shape.Node) shape.Node { n.MaxItems = maxList; return n }

func outputNode() shape.Node {
	return shape.ClosedOf("what the program prints",
		shape.Opt("format", shape.One("text: standard output is the answer, the exit code the outcome. json-lines: one JSON object a line, whose "+
			"meaning events states. stream-json: the format of Claude Code. acp: the Agent Client Protocol. drawbar: the command runs "+
			"drawbar agents serve, perhaps elsewhere",
			formatText, formatLines, formatStream, formatACP, formatDrawbar).Def(formatText)),
		shape.Opt("events", limited(shape.ListOf("json-lines: the meaning of lines; every rule that matches a line applies, in this order", ruleNode()))))
}

func ruleNode() shape.Node {
	path := func(doc string) shape.Node { return shape.Named(doc+" (path)", pathPattern) }
	return shape.ClosedOf("a rule",
		shape.Must("event", shape.One("session: the session's id is known. step: a model call starts. text: a piece of the answer. message: a "+
			"whole message. thinking: a piece of thinking. tool-start and tool-end: a tool call. usage: tokens of one model call. error: "+
			"the run fails unless a result follows. result: the end of a run that succeeded. ignore: the line means nothing", ruleNames()...)),
		shape.Must("when", shape.MapOf("paths and their values; a path is member names joined by dots, the value * matches any", pathPattern,
			shape.Text("").AnyText())),
		shape.Opt("text", path("text of text, message, thinking and result")),
		shape.Opt("id", path("id of the tool call")),
		shape.Opt("name", path("name of the tool")),
		shape.Opt("input", path("input of the tool")),
		shape.Opt("output", path("output of the tool")),
		shape.Opt("failed", path("tool-end: true if the tool failed")),
		shape.Opt("error", path("message of error; message of a tool that failed")),
		shape.Opt("usage", path("object with tokens and cost, in any common spelling; of a result: the total of the run")),
		shape.Opt("session", path("id of the session")),
		shape.Opt("model", path("model of the session")))
}

func optionsNode() shape.Node {
	efforts := shape.MapOf("thinking efforts by name, each as the program calls it", "^("+effortPattern()+")$", shape.Text(""))
	return shape.ClosedOf("arguments that options of a run add; an option without arguments is refused before anything starts",
		shape.Opt("model", arguments("model, as {model}")),
		shape.Opt("effort", arguments("thinking effort, as {effort}")),
		shape.Opt("efforts", efforts),
		shape.Opt("systemPrompt", arguments("instructions, as {system_prompt} or the file {system_prompt_file} (absent: they precede the prompt)")),
		shape.Opt("replaceSystemPrompt", arguments("the same for instructions that replace those of the program")),
		shape.Opt("approval", shape.MapOf("approval modes and their arguments; only acp can ask (prompt)", "^(yolo|prompt|deny)$", arguments(""))),
		shape.Opt("mcp", arguments("MCP servers, as {mcp_file}: a file with mcpServers, in the form of Claude Code")),
		shape.Opt("mcpTransports", shape.ListOf("transports of MCP servers (absent: stdio)", shape.One("", "stdio", "sse", "streamable-http"))),
		shape.Opt("newSession", arguments("a new session with the id {session}, a UUID that Drawbar chooses")),
		shape.Opt("resume", arguments("the session {session} continues")),
		shape.Opt("fork", arguments("a copy of the session {session} continues")),
		shape.Opt("ephemeral", arguments("a run that saves no session")))
}

func effortPattern() string {
	list := ""
	for i, e := range efforts {
		if i > 0 {
			list += "|"
		}
		list += string(e)
	}
	return list
}

var efforts = []execution.ThinkingEffort{execution.EffortLow, execution.EffortMedium, execution.EffortHigh, execution.EffortMax}

func loginNode() shape.Node {
	return shape.ClosedOf("how to log in",
		shape.Opt("provider", shape.Text("who issues the login (absent: the agent's display name)")),
		shape.Opt("variables", limited(shape.ListOf("variables with keys; they are kept in a minimal environment", shape.ClosedOf("a variable",
			shape.Must("name", shape.Named("name of the variable", variablePattern)),
			shape.Opt("description", shape.Text("what it contains")),
			shape.Opt("required", shape.Flag("whether a run without it is refused before the program starts; else a missing one is reported by "+
				"drawbar agents detect and drawbar auth check only").Def(false)))))),
		shape.Opt("command", arguments("command that logs in, for a terminal").AtLeastItems(1)))
}

func installNode() shape.Node {
	return shape.ClosedOf("a way",
		shape.Must("platform", shape.One("system", "darwin", "linux", "windows", "all")),
		shape.Must("type", shape.One("package manager; script runs the command in a shell", "npm", "brew", "pip", "winget", "script", "manual")),
		shape.Opt("package", shape.Text("the package manager's name of the program; not for script and manual")),
		shape.Opt("command", shape.Text("the command as a person types it")),
		shape.Opt("notes", shape.Text("remarks")))
}

func errorNode() shape.Node {
	codes := slices.Sorted(func(yield func(string) bool) {
		for _, r := range execution.ErrorRows() {
			if !yield(string(r.Code)) {
				return
			}
		}
	})
	return shape.ClosedOf("a rule; one match is enough",
		shape.Must("code", shape.One("error code", codes...)),
		shape.Opt("exits", limited(shape.ListOf("exit codes", shape.Within("", 1, 255)))),
		shape.Opt("phrases", texts("texts in a message or in the last lines of output, in any case")),
		shape.Opt("pattern", shape.Text("regular expression for the same (Go syntax)")))
}

func capabilitiesNode() shape.Node {
	n := shape.ClosedOf("capabilities that differ from those that follow from the rest of the entry")
	for _, c := range claims() {
		n.Keys = append(n.Keys, shape.Opt(c.name, shape.Flag(c.doc)))
	}
	return n
}
