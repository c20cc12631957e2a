package gemini

import (
	"time"

	"github.com/drawbar/drawbar/adapter"
	"github.com/drawbar/drawbar/adapter/kit/acpagent"
	"github.com/drawbar/drawbar/adapter/kit/cliagent"
	"github.com/drawbar/drawbar/adapter/kit/declared"
	"github.com/drawbar/drawbar/adapter/kit/sessionfile"
	"github.com/drawbar/drawbar/execution"
)

// Adapter drives Gemini CLI. It is stateless and safe for concurrent use.
type Adapter struct {
	cliagent.Embedded
	sessionfile.Store
	declared.Of[declares]
	declared.UpdatesOf[declares]
	declared.SwitchesOf[declares]
}

// home is the folder of Gemini's settings and logins.
var home = declared.Dir{Default: ".gemini", Variable: "GEMINI_CLI_HOME", Below: ".gemini"}

type declares struct{}

// Table is what Gemini CLI declares.
func (declares) Table() *declared.Table { return &table }

var table = declared.Table{
	Agent: name, Command: "gemini", Home: home, Project: ".gemini",
	Model:  declared.Setting("GEMINI_MODEL", home, settingsFile, "model", "name"),
	Skills: declared.Folders{Suffix: ".md", Also: []string{".agents"}, Note: trusted}, Hooks: &hooks, Plugins: &plugins, Login: &login,
}

var (
	_ adapter.ModelRedirector = Adapter{}
)

// New returns the adapter; zero options are for a normal program.
func New(opts cliagent.Options) Adapter {
	acp := protocol
	acp.Spawn = newWorld(opts).spawnConversation
	spec := acpagent.Join(cliagent.Spec{
		Name:         name,
		Command:      "gemini",
		InstallHint:  "install it with: " + install,
		Capabilities: capabilities,
		Spawn:        spawn,
		Negotiate:    negotiate,
		Narrow:       narrow,
		ToolHook:     toolHook,
		Keys:         keys,
		Hasty:        true,
		Linger:       2 * time.Second, // with an MCP server attached it never exits by itself
	}, acp, twoWay)
	spec.NewParser = func(req execution.Request) cliagent.Parser {
		if twoWay(req) {
			return newConversation(req)
		}
		return newOneShot(req)
	}
	return Adapter{Embedded: cliagent.Embedded{Adapter: cliagent.New(spec, opts)}, Store: sessions}
}
