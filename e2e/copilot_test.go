//go:build e2e

package e2e

// copilotWithoutProvider leaves Copilot to GitHub, where it is not logged in: a model provider of one's own needs no key.
func copilotWithoutProvider(l *lab) {
	for _, name := range []string{"COPILOT_PROVIDER_BASE_URL", "COPILOT_OFFLINE"} {
		delete(l.env, name)
	}
}
