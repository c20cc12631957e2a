package secret

import (
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"sync"
)

// shortest is the minimum length of a secret value: replacing every "true" or "1" ruins a record and protects
// nothing.
const shortest = 6

// Ordinary reports whether a value is not a secret whatever its name: too short, a common word, a small number, a URL
// without a login, the user or the machine, or an existing path.
func Ordinary(value string) bool {
	value = strings.TrimSpace(value)
	if len(value) < shortest || commonWords()[strings.ToLower(value)] || machine()[strings.ToLower(value)] {
		return true
	}
	if strings.Trim(value, "0123456789.,:-") == "" && len(value) < 12 {
		return true // a number, a date, a port
	}
	if _, err := netip.ParseAddr(value); err == nil {
		return true
	}
	if strings.Trim(value, value[:1]) == "" {
		return true // ****** and the like
	}
	if filepath.IsAbs(value) || strings.HasPrefix(value, "~/") || strings.HasPrefix(value, "./") || strings.HasPrefix(value, "../") {
		if len(value) > 4096 || strings.ContainsAny(value, "\n\x00") {
			return false
		}
		if rest, home := strings.CutPrefix(value, "~"); home {
			dir, _ := os.UserHomeDir()
			value = dir + rest
		}
		_, err := os.Lstat(value)
		return err == nil
	}
	return false
}

var commonWords = sync.OnceValue(func() map[string]bool {
	m := map[string]bool{}
	for w := range strings.FieldsSeq("enabled disabled required optional default defaults localhost production development staging testing sandbox " +
		"password passwd passphrase secret secrets bearer basic digest negotiate oauth oauth2 apikey api_key api-key api_key_helper token " +
		"authorization example changeme placeholder redacted [redacted] undefined unknown always prompt inherit system keyring keychain " +
		"github gitlab bitbucket google openai anthropic azure vertex bedrock cookie cookies session string number boolean object " +
		"publickey public private ed25519 ecdsa sha256 sha512 verbose warning normal postgres postgresql sqlite sqlite3 mariadb username user:pass " +
		"no-token notoken no-auth noauth gcloud kerberos anonymous external internal native vscode") {
		m[w] = true
	}
	return m
})

// machine returns the names of the user and of the machine.
var machine = sync.OnceValue(func() map[string]bool {
	m := map[string]bool{}
	for _, name := range []string{"USER", "LOGNAME", "USERNAME", "HOSTNAME", "COMPUTERNAME"} {
		m[strings.ToLower(os.Getenv(name))] = true
	}
	if host, err := os.Hostname(); err == nil {
		m[strings.ToLower(host)] = true
		short, _, _ := strings.Cut(host, ".")
		m[strings.ToLower(short)] = true
	}
	return m
})
