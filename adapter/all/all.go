// Package all registers the built-in adapters: one line each, and nothing else. Import it for its side effect.
package all

import (
	_ "github.com/drawbar/drawbar/adapter/acp"       // registers acp
	_ "github.com/drawbar/drawbar/adapter/anthropic" // registers anthropic
	_ "github.com/drawbar/drawbar/adapter/claude"    // registers claude
	_ "github.com/drawbar/drawbar/adapter/cline"     // registers cline
	_ "github.com/drawbar/drawbar/adapter/codex"     // registers codex
	_ "github.com/drawbar/drawbar/adapter/command"   // registers command
	_ "github.com/drawbar/drawbar/adapter/copilot"   // registers copilot
	_ "github.com/drawbar/drawbar/adapter/droid"     // registers droid
	_ "github.com/drawbar/drawbar/adapter/gemini"    // registers gemini
	_ "github.com/drawbar/drawbar/adapter/google"    // registers google
	_ "github.com/drawbar/drawbar/adapter/goose"     // registers goose
	_ "github.com/drawbar/drawbar/adapter/harness"   // registers harness
	_ "github.com/drawbar/drawbar/adapter/hermes"    // registers hermes
	_ "github.com/drawbar/drawbar/adapter/ollama"    // registers ollama
	_ "github.com/drawbar/drawbar/adapter/omp"       // registers omp
	_ "github.com/drawbar/drawbar/adapter/openai"    // registers openai
	_ "github.com/drawbar/drawbar/adapter/openclaw"  // registers openclaw
	_ "github.com/drawbar/drawbar/adapter/opencode"  // registers opencode
	_ "github.com/drawbar/drawbar/adapter/pi"        // registers pi
	_ "github.com/drawbar/drawbar/adapter/qwen"      // registers qwen
	_ "github.com/drawbar/drawbar/adapter/script"    // registers script

	_ "github.com/drawbar/drawbar/adapter/kit/declarative/agents" // registers the agents that are described by data
)
