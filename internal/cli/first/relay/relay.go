// Package relay does the work of an agent's hook, for which the program is started at every tool call, before the packages of its
// commands are initialized. It belongs into main.
package relay

import "github.com/drawbar/drawbar/adapter/kit/hookrelay"

func init() { hookrelay.MaybeRelay() }
