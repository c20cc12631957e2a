package secret

import (
	"slices"
	"strings"
)

// Words in the names of variables, headers, options and parameters that contain secrets. Each matches anywhere in a
// name.
var (
	words = []string{"KEY", "TOKEN", "SECRET", "PASSWORD", "PASSWD", "PASSPHRASE", "CREDENTIAL", "AUTHORIZATION", "COOKIE",
		"DATABASEURL", "WEBHOOK", "CONNSTR", "CONNECTIONSTR", "CONNECTIONUR"}
	// variableWords indicate secrets in variables, headers and options, and ordinary values in settings files.
	variableWords = []string{"AUTH", "PRIVATE"}
	// wholeWords are too short to match inside another word.
	wholeWords = []string{"PASS", "PWD", "DSN", "CONN", "CONNECTION", "PAT", "SIG", "SIGNATURE"}
)

// harmless are names that match a word without containing a secret.
var harmless = []string{
	"SSHAUTHSOCK", "GPGTTY", "XAUTHORITY", "PWD", "OLDPWD", "INITCWD", "GOPRIVATE", "GOAUTH",
	"SSHCONNECTION", "SSHCLIENT", "CONNECTION", "PROXYCONNECTION", "KEYTIMEOUT", "GNOMEKEYRINGCONTROL", "APTKEYDONTWARNONDANGEROUSUSAGE",
}

// harmlessWords are removed from a name before it is checked.
var harmlessWords = []string{"KEYBOARD", "KEYMAP", "KEYBINDING", "KEYFRAME", "KEYWORD", "MONKEY", "TURKEY", "AUTHOR", "BYPASS", "COMPASS"}

// counts are words that make TOKENS a count.
var counts = []string{"MAX", "MIN", "OUTPUT", "INPUT", "THINKING", "BUDGET", "LIMIT", "COUNT", "NUM", "WINDOW", "CONTEXT", "REASONING", "TOTAL"}

var flatten = strings.NewReplacer("_", "", "-", "", ".", "", " ", "")

// Name reports whether a variable, header, option or parameter of this name contains a secret.
func Name(name string) bool {
	upper := strings.ToUpper(strings.Trim(name, "-"))
	flat := flatten.Replace(upper)
	if slices.Contains(harmless, flat) {
		return false
	}
	if contains(flat, "AUTHORIZATION") {
		return true
	}
	for _, w := range harmlessWords {
		flat = strings.ReplaceAll(flat, w, "")
	}
	if strings.HasSuffix(flat, "TOKENS") && contains(flat, counts...) {
		flat = strings.TrimSuffix(flat, "TOKENS")
	}
	if contains(flat, words...) || contains(flat, variableWords...) {
		return true
	}
	return slices.ContainsFunc(strings.FieldsFunc(upper, func(r rune) bool { return r == '_' || r == '-' || r == '.' }), func(part string) bool {
		return slices.Contains(wholeWords, part) || strings.HasSuffix(part, "PASS") && len(part) <= 8 && !slices.Contains(harmlessWords, part)
	})
}

// Setting reports whether a setting of this name, in a configuration file, contains a secret. A setting that names a
// variable does not.
func Setting(key string) bool {
	upper := strings.ToUpper(key)
	if slices.ContainsFunc([]string{"_ENV_VAR", "_ENV_KEY", "HELPER", "TOKENS"}, func(end string) bool { return strings.HasSuffix(upper, end) }) {
		return false
	}
	return contains(strings.NewReplacer("_", "", "-", "").Replace(upper), words...)
}

func contains(name string, words ...string) bool {
	return slices.ContainsFunc(words, func(w string) bool { return strings.Contains(name, w) })
}
