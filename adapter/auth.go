package adapter

import "time"

// AuthState is what is known about a login (agent-mux specification, AuthState). It never contains any part of
// a secret.
type AuthState struct {
	Status    AuthStatus `json:"status"`
	Method    string     `json:"method,omitempty"`
	Identity  string     `json:"identity,omitempty"`
	ExpiresAt time.Time  `json:"expiresAt,omitzero"` // when the login expires, even if the agent renews it; zero if unknown
	Details   string     `json:"details,omitempty"`
}

// AuthStatus says whether an agent is logged in.
type AuthStatus string

// The login states.
const (
	Authenticated   AuthStatus = "authenticated"
	Unauthenticated AuthStatus = "unauthenticated"
	AuthExpired     AuthStatus = "expired"
	AuthUnknown     AuthStatus = "unknown"
)

// AuthGuide explains how to log in.
type AuthGuide interface {
	AuthGuidance() AuthGuidance
}

// AuthGuidance explains how to log in (agent-mux specification, AuthSetupGuidance).
type AuthGuidance struct {
	Agent         string            `json:"agent"` // filled in by the caller
	Provider      string            `json:"providerName"`
	Steps         []AuthStep        `json:"steps"` // alternatives or steps, most common first
	EnvVars       []AuthVariable    `json:"envVars"`
	Documentation []string          `json:"documentationUrls"`
	PlatformNotes map[string]string `json:"platformNotes,omitempty"` // by platform: darwin, linux, windows
	LoginCommand  string            `json:"loginCommand,omitempty"`  // words separated by spaces, run in a terminal; empty: no command logs in
	VerifyCommand string            `json:"verifyCommand,omitempty"` // the agent's own check
}

// AuthStep is one step of a login.
type AuthStep struct {
	Description string `json:"description"`
	Command     string `json:"command,omitempty"` // to type in a shell
	URL         string `json:"url,omitempty"`
}

// AuthVariable is an environment variable that logs in to an agent, or is needed for it.
type AuthVariable struct {
	Name        string `json:"name"`
	Description string `json:"description"`
	Required    bool   `json:"required"`                // required for every login
	Example     string `json:"exampleFormat,omitempty"` // the form of a value, never a real one
}
