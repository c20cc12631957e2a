package procenv

import (
	"bytes"
	"sort"
	"strings"
)

// Mark stands in a text where a secret stood.
const Mark = "[redacted]"

// shortestSecret is how long a value must be to be taken for a secret: replacing every "1" helps nobody.
const shortestSecret = 6

var tellingWords = []string{"KEY", "TOKEN", "SECRET", "PASSWORD", "PASSWD", "CREDENTIAL", "AUTH", "COOKIE"}

var harmless = map[string]bool{"SSH_AUTH_SOCK": true, "GPG_TTY": true, "XAUTHORITY": true}

// Telling reports whether a variable or a header of this name looks as if it held a secret.
func Telling(name string) bool {
	name = strings.ToUpper(name)
	if harmless[name] {
		return false
	}
	for _, w := range tellingWords {
		if strings.Contains(name, w) {
			return true
		}
	}
	return false
}

// Redactor replaces secrets in texts. The zero value knows none; a finished one is safe for concurrent use.
type Redactor struct{ secrets [][]byte }

// NewRedactor knows the values of an environment's variables whose names tell.
func NewRedactor(environ []string) *Redactor {
	r := &Redactor{}
	for _, entry := range environ {
		if name, value, ok := strings.Cut(entry, "="); ok && Telling(name) {
			r.Add(value)
		}
	}
	return r
}

// Add makes a value a secret. One with blanks, such as "Bearer token", is one as a whole and in its last part; values that
// are too short to be one are left alone.
func (r *Redactor) Add(value string) {
	value = strings.TrimSpace(value)
	for _, v := range []string{value, value[strings.LastIndexByte(value, ' ')+1:]} {
		if len(v) >= shortestSecret && !r.has(v) {
			r.secrets = append(r.secrets, []byte(v))
		}
	}
	// The longest first: a secret that contains another one must go as a whole.
	sort.SliceStable(r.secrets, func(i, j int) bool { return len(r.secrets[i]) > len(r.secrets[j]) })
}

func (r *Redactor) has(v string) bool {
	for _, s := range r.secrets {
		if string(s) == v {
			return true
		}
	}
	return false
}

// Bytes is the text without secrets. It is the argument itself where there is none in it.
func (r *Redactor) Bytes(text []byte) []byte {
	for _, s := range r.secrets {
		if bytes.Contains(text, s) {
			text = bytes.ReplaceAll(text, s, []byte(Mark))
		}
	}
	return text
}

// Text is Bytes for a string.
func (r *Redactor) Text(text string) string {
	for _, s := range r.secrets {
		text = strings.ReplaceAll(text, string(s), Mark)
	}
	return text
}

// MaskArgs are arguments as a log may show them: the value of an option whose name tells is replaced, and every secret.
func (r *Redactor) MaskArgs(args []string) []string {
	masked := make([]string, len(args))
	hide := false
	for i, a := range args {
		masked[i] = r.Text(a)
		name, _, assigned := strings.Cut(a, "=")
		option := strings.HasPrefix(a, "-") && Telling(name)
		switch {
		case hide && !strings.HasPrefix(a, "-"):
			masked[i], hide = Mark, false
		case option && assigned:
			masked[i], hide = name+"="+Mark, false
		default:
			hide = option
		}
	}
	return masked
}
