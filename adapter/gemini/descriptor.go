package gemini

import (
	"slices"

	"github.com/drawbar/drawbar/adapter"
	"github.com/drawbar/drawbar/adapter/kit/cliagent"
)

const (
	name    = "gemini"
	install = "npm install -g @google/gemini-cli@0.61.0"
)

func init() { adapter.Register(Descriptor) }

// keys are the variables of Gemini CLI's logins and model APIs.
var keys = []string{"GEMINI_API_KEY", "GEMINI_MODEL", "GEMINI_CLI_HOME", "GEMINI_CLI_USE_COMPUTE_ADC", "GEMINI_CLI_SYSTEM_SETTINGS_PATH",
	"GEMINI_CLI_SYSTEM_DEFAULTS_PATH", "GEMINI_CLI_TRUSTED_FOLDERS_PATH", "GEMINI_TELEMETRY_ENABLED", "GOOGLE_API_KEY",
	"GOOGLE_APPLICATION_CREDENTIALS", "GOOGLE_CLOUD_ACCESS_TOKEN", "GOOGLE_CLOUD_LOCATION", "GOOGLE_CLOUD_PROJECT", "GOOGLE_CLOUD_PROJECT_ID",
	"GOOGLE_GEMINI_BASE_URL", "GOOGLE_VERTEX_BASE_URL", "GOOGLE_GENAI_API_VERSION", "GOOGLE_GENAI_USE_GCA", "GOOGLE_GENAI_USE_VERTEXAI",
	"CODE_ASSIST_ENDPOINT", "CLOUD_SHELL", "NO_BROWSER"}

// Descriptor describes Gemini CLI. Every call returns a fresh copy.
func Descriptor() adapter.Descriptor {
	return adapter.Descriptor{
		Name:        name,
		Aliases:     []string{"gemini-cli"},
		DisplayName: "Gemini CLI",
		Command:     "gemini",
		// The lines of stream-json and the sessions of the Agent Client Protocol follow this version.
		MinVersion:     "0.61.0",
		TestedVersions: []string{"0.61.0"},
		Models:         models(),
		ModelFlag:      modelFlag,
		Config:         configSchema(),
		Install: []adapter.InstallMethod{
			{Platform: "all", Type: "npm", Package: "@google/gemini-cli", Command: install, PrerequisiteCheck: "npm --version",
				Requires: []adapter.Requirement{{Command: "node", MinVersion: "20.0.0"}}},
			{Platform: "darwin", Type: "brew", Package: "gemini-cli", Command: "brew install gemini-cli", PrerequisiteCheck: "brew --version"},
			{Platform: "linux", Type: "brew", Package: "gemini-cli", Command: "brew install gemini-cli", PrerequisiteCheck: "brew --version"},
		},
		HostSignals: []string{"GEMINI_CLI"},
		HostTraces:  []string{"GEMINI_CLI_NO_RELAUNCH", "GEMINI_SESSION_ID"},
		Keys:        slices.Clone(keys),
		Docs:        "https://geminicli.com/docs",
		New:         func() adapter.Adapter { return New(cliagent.Options{}) },
	}
}
