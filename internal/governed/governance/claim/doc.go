// Package claim compares what a turn says it changed with what was observed in the workspace, by the authority of its role.
//
// The rules of undeclared and phantom changes, of reserved paths and of what a turn is credited with belong here. Looking at a
// workspace does not: see internal/governed/workspace. Nothing here reads a file, a clock or a variable.
package claim
