// Package proposal reads and writes proposals: files that a turn proposes instead of changing them, stored below
// .agentxchain/proposed/<turn>/ with a snapshot of what they would replace. It compares them with the work tree. Who may
// decide on a proposal, and how a decision is recorded, does not belong here.
package proposal
