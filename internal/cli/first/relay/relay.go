// Package relay runs the command of an agent's hook, which starts this program for every tool call, before the packages of the
// commands are initialized. Only main imports it.
package relay

import "github.com/drawbar/drawbar/adapter/kit/hookrelay"

func init() { hookrelay.MaybeRelay() }
