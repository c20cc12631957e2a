package codex

import "testing"

// What Codex remembers of a review: the hash of the group in its own words, in the order of the names.
func TestHookHash(t *testing.T) {
	if got := hookHash("PreToolUse", "a 'b' && <c>", 600); got != "sha256:9edcad066369bb0e060b7b4bdf21603dc75b9a60df561ff84f609b6db1986f5c" {
		t.Error(got)
	}
	if got := hookKey("/x/hooks.json", "UserPromptSubmit", 2); got != "/x/hooks.json:user_prompt_submit:2:0" {
		t.Error(got)
	}
}
