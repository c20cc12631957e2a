package adapter

import (
	"cmp"
	"strings"

	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/internal/base/deepcopy"
	ver "github.com/drawbar/drawbar/internal/base/version"
	"github.com/drawbar/drawbar/settings"
)

// Descriptor describes an agent without running or reading anything. Its Name is the folder, the registered
// name, the configuration key, and the 003 backendId.
type Descriptor struct {
	Name           string   // lower case, unique: "claude"
	Aliases        []string // other names of the agent: "claude-code"
	DisplayName    string   // "Claude Code"; empty: Name
	Command        string   // the command line program, found on PATH; empty for an adapter that takes a command, and for a model API
	MinVersion     string   // lowest supported version; empty for none
	TestedVersions []string // versions tested by the end-to-end suite
	DefaultModel   string   // empty: the agent chooses
	Models         []execution.Model
	ModelFlag      string // flag of the program for a run's model: --model; empty if it is chosen otherwise
	Config         settings.Schema
	Unasked        []settings.Unasked // what it runs of a project without asking its user
	Install        []InstallMethod
	HostSignals    []string          // variables that mark "this process runs inside that agent"; never a login
	HostTraces     []string          // other variables that it may leave to child processes; they prove nothing and are useless to other agents
	HostCopies     []string          // markers of other agents that it sets too: within this agent they stand for nothing
	HostMetadata   map[string]string // such variables by the information they contain: sessionId, version, projectDir
	Keys           []string          // variables needed for the agent's login; kept in a minimal environment
	Docs           string            // URL of the vendor's documentation
	Protocol       string            // ProtocolACP for an agent without an adapter of its own: lists omit it where its program is missing; ProtocolExternal, ProtocolDrawbar, ProtocolAPI or ProtocolA2A
	PromptOptional bool              // the program that a run names is enough; without a prompt its command line is the prompt
	InProcess      bool              // a part of this program: it has no program of its own
	Described      bool              // an entry describes it, in place of an adapter
	Documented     string            // URL of the document that the adapter follows; set if it was never exercised with the agent's program
	New            func() Adapter
}

// ProtocolACP is the Descriptor.Protocol of an agent that is reached over the Agent Client Protocol alone.
const ProtocolACP = "ACP"

// ProtocolExternal is the Descriptor.Protocol of an agent whose adapter is a program of its own (package adapter/external).
const ProtocolExternal = "external"

// ProtocolDrawbar is the Descriptor.Protocol of an agent behind another Drawbar.
const ProtocolDrawbar = "Drawbar"

// ProtocolAPI is the Descriptor.Protocol of a model API, which has no program.
const ProtocolAPI = "API"

// ProtocolA2A is the Descriptor.Protocol of a service of the Agent2Agent protocol, which has no program.
const ProtocolA2A = "A2A"

// NotExercised describes an agent whose adapter follows documents, see Descriptor.Documented.
const NotExercised = "documented, not exercised"

// Programless reports whether the agent has no program to find, install or name: it is a service, or a part of this program.
func (d Descriptor) Programless() bool { return d.InProcess || d.IsService() }

// Kind describes how an agent is reached: "own adapter", "part of Drawbar", "over ACP", "over A2A", "over Drawbar",
// "external adapter", "model API", "described entry", or NotExercised.
func (d Descriptor) Kind() string {
	switch {
	case d.Documented != "":
		return NotExercised
	case d.InProcess:
		return "part of Drawbar"
	case d.Protocol == ProtocolExternal:
		return "external adapter"
	case d.Protocol == ProtocolAPI:
		return "model API"
	case d.Protocol == ProtocolA2A:
		return "over A2A"
	case d.Described:
		return "described entry"
	case d.Protocol != "":
		return "over " + d.Protocol
	}
	return "own adapter"
}

// IsService reports whether the agent is a service.
func (d Descriptor) IsService() bool { return d.Protocol == ProtocolAPI || d.Protocol == ProtocolA2A }

// Clone returns a copy that shares no memory with d, with the agent's name as the default of other names. Lists
// on the wire are never nil in it.
func (d Descriptor) Clone() Descriptor { return deepcopy.Of(d).completed() }

// completed returns d as Clone does, but it shares d's memory.
func (d Descriptor) completed() Descriptor {
	d.DisplayName, d.Config.Agent = cmp.Or(d.DisplayName, d.Name), cmp.Or(d.Config.Agent, d.Name)
	d.Models, d.Install, d.Config.Fields = listed(d.Models), listed(d.Install), listed(d.Config.Fields)
	d.Config.ConfigFiles, d.Config.ProjectConfigFiles = listed(d.Config.ConfigFiles), listed(d.Config.ProjectConfigFiles)
	return d
}

func listed[T any](list []T) []T {
	if list == nil {
		return []T{}
	}
	return list
}

// Untested returns the warning about a version outside the tested ones and what to do about it, empty for a tested version or if
// nothing is known.
func (d Descriptor) Untested(version string) string {
	if version == "" || len(d.TestedVersions) == 0 || ver.Within(version, d.TestedVersions) {
		return ""
	}
	if _, err := ver.Parse(version); err != nil {
		return ""
	}
	text := d.DisplayName + " " + version + " is not a tested version (" + strings.Join(d.TestedVersions, ", ") + ")"
	if order, err := ver.Compare(version, d.TestedVersions[len(d.TestedVersions)-1]); err == nil && order > 0 {
		text += "; newer ones usually work, to see what does: drawbar agents conform " + d.Name
	}
	return text
}
