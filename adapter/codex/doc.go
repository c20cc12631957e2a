// Package codex drives OpenAI's Codex CLI. One run is one process: `codex exec --json` for a run that takes one prompt
// and asks nobody, `codex app-server` for a conversation with messages, approvals and interrupts, and for limits that
// must be enforced between model calls.
//
// Here belong the words of Codex: its arguments, its configuration keys, its events, its failures and the files its login
// is read from. Starting, stopping and watching a process is the business of package cliagent; limits, prices and
// policy are that of package agent.
package codex
