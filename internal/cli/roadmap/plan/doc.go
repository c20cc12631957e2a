// Package plan reads and changes ROADMAP.md: tasks with markers, ids, dependencies and annotations, and the files that belong to a task. It
// implements the product side of 002 (Agent Adapter Interface).
package plan
