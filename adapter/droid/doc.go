// Package droid drives Factory Droid over the Agent Client Protocol (droid exec --output-format acp).
//
// Over the protocol it states neither tokens nor prices. The tokens of a whole session are in its settings.
package droid
