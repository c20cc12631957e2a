package acp

import (
	"github.com/drawbar/drawbar/adapter"
	"github.com/drawbar/drawbar/adapter/kit/acpagent"
)

// named are the agents with a name that need no code of their own: one row each. A row whose agent gets a folder below
// adapter moves there.
func named() []func() acpagent.Agent {
	return []func() acpagent.Agent{
		claudeBridge, codexBridge, // exercised: exercised.go
		auggie, codeAssistant, cursor, junie, kilo, kimi, kiro, openhands, piBridge, poolside, qoder, stakpak, vibe,
	}
}

// documented describes an agent that was never run here: how to start it is what the document at an address says.
func documented(name, display, command, document string, args ...string) acpagent.Agent {
	return acpagent.Agent{
		About: adapter.Descriptor{Name: name, DisplayName: display, Command: command, Docs: document, Documented: document,
			Install: []adapter.InstallMethod{{Platform: "all", Type: "manual", Notes: "how to install it: " + document}}},
		Args: args,
	}
}

// key is a variable that logs in.
func key(name, description string) adapter.AuthVariable {
	return adapter.AuthVariable{Name: name, Description: description}
}

func auggie() acpagent.Agent {
	a := documented("auggie", "Auggie CLI", "auggie", "https://docs.augmentcode.com/cli/acp/agent", "--acp")
	a.About.Aliases, a.About.Install = []string{"augment"}, []adapter.InstallMethod{acpagent.NPM("@augmentcode/auggie", "", "")}
	return a
}

func codeAssistant() acpagent.Agent {
	return documented("code-assistant", "Code Assistant", "code-assistant", "https://github.com/stippi/code-assistant", "acp")
}

func junie() acpagent.Agent {
	a := documented("junie", "Junie", "junie", "https://junie.jetbrains.com/docs/junie-cli-acp.html", "--acp", "true")
	a.About.Install = []adapter.InstallMethod{acpagent.NPM("@jetbrains/junie", "", "")}
	return a
}

func kilo() acpagent.Agent {
	a := documented("kilo", "Kilo", "kilo", "https://zed.dev/acp/agent/kilo", "acp")
	a.About.Aliases, a.About.Install = []string{"kilocode"}, []adapter.InstallMethod{acpagent.NPM("@kilocode/cli", "", "")}
	return a
}

func kimi() acpagent.Agent {
	a := documented("kimi", "Kimi CLI", "kimi", "https://github.com/MoonshotAI/kimi-cli", "acp")
	a.About.Aliases = []string{"kimi-cli"}
	return a
}

func kiro() acpagent.Agent {
	a := documented("kiro", "Kiro CLI", "kiro-cli", "https://kiro.dev/docs/cli/acp", "acp")
	a.About.Aliases = []string{"kiro-cli"}
	return a
}

func openhands() acpagent.Agent {
	a := documented("openhands", "OpenHands CLI", "openhands", "https://docs.openhands.dev/openhands/usage/run-openhands/acp", "acp")
	a.Login = acpagent.Login{Command: "openhands", Files: []string{".openhands/settings.json"}}
	return a
}

func piBridge() acpagent.Agent {
	a := documented("pi-acp", "Pi, through pi-acp", "pi-acp", "https://github.com/svkozak/pi-acp")
	a.About.Install = []adapter.InstallMethod{acpagent.NPM("pi-acp", "", "20.0.0")}
	a.Notes = []string{"it starts the program pi, which must be on PATH"}
	return a
}

func poolside() acpagent.Agent {
	a := documented("poolside", "Poolside", "pool", "https://zed.dev/acp/agent/poolside", "acp")
	a.About.Aliases = []string{"pool"}
	return a
}

func qoder() acpagent.Agent {
	a := documented("qoder", "Qoder CLI", "qodercli", "https://docs.qoder.com/cli/acp", "--acp")
	a.About.Aliases, a.About.Install = []string{"qodercli"}, []adapter.InstallMethod{acpagent.NPM("@qoder-ai/qodercli", "", "")}
	return a
}

func stakpak() acpagent.Agent {
	return documented("stakpak", "Stakpak", "stakpak", "https://github.com/stakpak/agent", "acp")
}

func vibe() acpagent.Agent {
	a := documented("vibe", "Mistral Vibe", "vibe-acp", "https://github.com/mistralai/mistral-vibe")
	a.About.Aliases = []string{"mistral-vibe", "mistral"}
	return a
}
