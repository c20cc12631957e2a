// Package cline drives Cline CLI over the Agent Client Protocol (cline --acp).
//
// Over the protocol it states neither tokens nor prices; its session files have both, for every call of the model.
package cline
