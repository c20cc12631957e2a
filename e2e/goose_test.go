//go:build e2e

package e2e

// gooseWithoutProvider takes away the provider: goose sends requests to a host of the user's own without a key.
func gooseWithoutProvider(l *lab) {
	for _, name := range []string{"GOOSE_PROVIDER", "GOOSE_MODEL", "OPENAI_HOST", "OPENAI_BASE_PATH"} {
		delete(l.env, name)
	}
}

// gooseWithoutLimit sets the context window that goose assumes for a model of which it knows nothing: it compacts what does not fit.
func gooseWithoutLimit(l *lab) { l.env["GOOSE_CONTEXT_LIMIT"] = "2000000" }
