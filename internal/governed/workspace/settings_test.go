package workspace

import (
	"strings"
	"testing"
)

// TestSettingsAreShownWithoutSecrets: what is recorded of git's settings holds no login, and still differs when it does.
func TestSettingsAreShownWithoutSecrets(t *testing.T) {
	t.Parallel()
	const hidden = "hunter2hunter2"
	for key, value := range map[string]string{
		"http.extraheader":                           "AUTHORIZATION: basic " + hidden,
		"http.https://example.com/.extraheader":      "Authorization: Bearer " + hidden,
		"remote.origin.url":                          "https://me:" + hidden + "@example.com/x.git",
		"credential.helper":                          "!f() { echo username=me; echo password=" + hidden + "; }; f",
		"core.gitproxy":                              "curl https://me:" + hidden + "@example.com",
		"url.https://me:" + hidden + "@h/.insteadof": "https://h/",
		"http.cookiefile":                            "/home/me/cookies",
		"some.password":                              hidden,
		"some.token":                                 hidden,
	} {
		got := maskedKey(key) + " " + shown(key, value)
		if strings.Contains(got, hidden) {
			t.Errorf("%s: %s", key, got)
		}
		if other := shown(key, value+"x"); other == shown(key, value) {
			t.Errorf("%s: another value looks the same", key)
		}
	}
	if got := shown("filter.x.clean", "touch /tmp/x; cat"); got != "touch /tmp/x; cat" {
		t.Errorf("got %q", got)
	}
	if got := shown("a.b", strings.Repeat("x", 999)); len(got) > shownLength+30 {
		t.Errorf("%d bytes", len(got))
	}
}
