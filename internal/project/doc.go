// Package project reads and writes what Drawbar keeps in a governed project: agentxchain.json, the layout below
// .agentxchain/, dispatch bundles and staged results. What the configuration has to satisfy is package charter's; what is
// recorded is package ledger's; the user's files are package workspace's.
package project
