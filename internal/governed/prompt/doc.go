// Package prompt renders what an agent or a person is handed for a turn: ASSIGNMENT.json, PROMPT.md and CONTEXT.md of the
// dispatch bundle, and the sections of TALK.md and HUMAN_TASKS.md that a turn leaves behind.
//
// It is pure: everything it says comes from its input, and nothing of that from an environment. Reading the input's files
// and writing the bundle is internal/governed/project's business; whether a gate passes is decided in internal/governed/governance/gate, whose
// answers are part of the input, so that an agent is told what the evaluator will decide.
//
// Texts of files and of agents are bounded and quoted: none of them can end the fence, the table or the list it stands in.
package prompt
