// Package policy decides what an assistant may do before it does it: rules allow, deny, ask for an approval or escalate, and every decision is
// written to an audit first (BYOH specification, policy).
//
// A product asks an Engine; adapters know nothing of it. Whatever goes wrong, nothing is allowed: without a rule that decides, an approval
// is required, and a rule, a classifier or an audit that fails is an error.
package policy
