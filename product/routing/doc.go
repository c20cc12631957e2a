// Package routing chooses how much a turn may cost and who runs it: a mode from what a product knows about the turn, and an adapter from what the
// candidates can do, cost and take (BYOH specification, routing).
//
// Everything is pure: candidates come with their negotiation, price and speed, and a choice names its reason and what was rejected, and why.
package routing
