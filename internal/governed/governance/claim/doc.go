// Package claim compares what a turn says it changed with what was observed in the workspace, depending on the
// authority of its role.
//
// The rules for undeclared and phantom changes, for reserved paths and for the files credited to a turn belong here.
// Observing a workspace does not: see internal/governed/workspace. The package reads no file, clock or variable.
package claim
