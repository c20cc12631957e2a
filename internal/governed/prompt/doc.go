// Package prompt renders what an agent or a person gets for a turn: ASSIGNMENT.json, PROMPT.md and CONTEXT.md of the
// dispatch bundle, and the sections that a turn adds to TALK.md and HUMAN_TASKS.md.
//
// It is pure: all of its output comes from its input, and none of it from the environment. internal/governed/project
// reads the input's files and writes the bundle. internal/governed/governance/gate decides whether a gate passes; its
// answers are part of the input, so that an agent is told what the evaluator will decide.
//
// Texts of files and of agents are bounded and quoted: none of them can end the fence, the table or the list that
// contains it.
package prompt
