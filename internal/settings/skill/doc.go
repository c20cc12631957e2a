// Package skill puts skills and sub-agents where agents look for them: folders with a SKILL.md, and single files. It checks
// what it is given, copies it whole or not at all, and runs nothing of it.
//
// Where an agent looks is its adapter's business.
package skill
