package declarative

import (
	"slices"
	"strconv"
	"strings"
)

// SSH is another machine whose Drawbar runs the agent.
type SSH struct {
	Host         string `json:"host"`
	Port         int    `json:"port"`
	IdentityFile string `json:"identityFile"`
	Program      string `json:"program"`
}

// IsRemote reports whether another Drawbar runs the agent: Describe does not describe it then.
func (e *Entry) IsRemote() bool { return e.Output.Format == formatDrawbar }

// sshCommand returns the command that reaches the agent of another machine. It asks nobody, and passes on nothing of this
// machine: no terminal, no forwarded agent, no forwarded port. A connection that is lost ends within a minute.
func (e *Entry) sshCommand() []string {
	words := []string{"ssh", "-T", "-a", "-x"}
	for _, o := range []string{"BatchMode=yes", "ClearAllForwardings=yes", "RemoteCommand=none", "ConnectTimeout=15", "ServerAliveInterval=15",
		"ServerAliveCountMax=3"} {
		words = append(words, "-o", o)
	}
	if e.SSH.Port > 0 {
		words = append(words, "-p", strconv.Itoa(e.SSH.Port))
	}
	if e.SSH.IdentityFile != "" {
		words = append(words, "-o", "IdentitiesOnly=yes", "-i", e.SSH.IdentityFile)
	}
	return append(words, "--", e.SSH.Host, e.SSH.Program, "agents", "serve", e.Agent)
}

// remote checks an agent behind another Drawbar: nearly everything about it is stated by the other side.
func (c *checker) remote(e *Entry) {
	if !e.IsRemote() {
		for _, key := range []string{"ssh", "agent", "directory"} {
			if c.root.Get(key).Is() {
				c.fault(at(key), `write "output": {"format": "drawbar"}, or remove it`, "applies to an agent behind another Drawbar only")
			}
		}
		return
	}
	stated := []string{"displayName", "docs", "command", "output", "ssh", "agent", "directory", "environment", "notes", "install"}
	for _, m := range c.root.Members {
		if !slices.Contains(stated, m.Key) && c.known(m.Key) {
			c.fault(at(m.Key), "remove it", "does not apply to drawbar: the other side states it")
		}
	}
	ssh := e.SSH != nil
	switch {
	case ssh && c.root.Get("command").Is():
		c.fault(at("command"), "remove it, or ssh", "does not apply to ssh, which has a command of its own")
	case ssh && e.Agent == "":
		c.fault(at("agent"), `add "agent": "claude"`, "is missing: which agent of the other machine is it?")
	case !ssh && e.Agent != "":
		c.fault(at("agent"), "the command names the agent: drawbar agents serve AGENT", "applies to ssh only")
	}
	for i, w := range e.Command {
		if slots := slotsOf(w); i > 0 && !ssh && len(slots) > 0 {
			c.fault(at("command", i), "remove {"+slots[0]+"}", "has a placeholder, but the protocol passes on the request")
		}
	}
	c.slots(e.Directory, at("directory"), slotDir)
	if strings.ContainsAny(e.Directory, "\x00\r\n") {
		c.fault(at("directory"), "", "has a control character")
	}
}

// known reports whether the table has a key.
func (c *checker) known(key string) bool { _, ok := Keys().Find(key); return ok }
