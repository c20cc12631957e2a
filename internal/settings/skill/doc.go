// Package skill installs skills and sub-agents where agents find them: folders with a SKILL.md, and single
// files. It validates its input, copies it completely or not at all, and runs nothing of it.
//
// The adapters know the folders of their agents.
package skill
