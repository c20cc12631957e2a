// Package gemini drives Gemini CLI, Google's command line agent.
package gemini
