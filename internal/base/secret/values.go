package secret

import (
	"encoding/json"
	"net/url"
	"slices"
	"strings"
)

// Environ returns the secrets in a list of NAME=value: the values of secret names, and logins in URLs under any name.
func Environ(environ []string) []string {
	var found []string
	for _, entry := range environ {
		if name, value, ok := strings.Cut(entry, "="); ok && name != "" {
			found = append(found, Variable(name, value)...)
		}
	}
	return found
}

// Variable returns the secrets in the value of one variable or header: all of it, or for an ordinary name the login
// of a URL.
func Variable(name, value string) []string {
	if Name(name) {
		return []string{value}
	}
	return inURL(value)
}

// Configured is Variable for settings of a server: a random value is a secret under any name.
func Configured(name, value string) []string {
	if Name(name) || random(value) {
		return []string{value}
	}
	return inURL(value)
}

// Args returns the secrets in arguments: the values of options with secret names (--api-key=X, --token X, NAME=X),
// and logins and parameters of URLs.
func Args(args []string) []string {
	var found []string
	eachArg(args, func(_ int, _, value string) { found = append(found, value) })
	for _, a := range args {
		if _, value, ok := strings.Cut(a, "="); ok && !strings.Contains(a[:len(a)-len(value)], "://") {
			a = value
		}
		found = append(found, URL(a)...)
	}
	return found
}

// eachArg calls f for every value of an option with a secret name. prefix is the name with its =, empty if the value
// is a separate argument.
func eachArg(args []string, f func(i int, prefix, value string)) {
	pending := false
	for i, a := range args {
		name, value, assigned := strings.Cut(a, "=")
		option := strings.HasPrefix(a, "-")
		telling := !strings.ContainsAny(name, " /:") && Name(name)
		switch {
		case pending && !option:
			f(i, "", a)
			pending = false
		case assigned && telling:
			f(i, name+"=", value)
			pending = false
		case headerArg(a) != "":
			value := headerArg(a)
			f(i, a[:len(a)-len(value)], value)
			pending = false
		default:
			pending = option && !assigned && telling
		}
	}
}

// headerArg returns the value of an argument such as "Authorization: Bearer X" or "--header=X-Api-Key: X".
func headerArg(a string) string {
	name, value, ok := strings.Cut(a, ":")
	if i := strings.LastIndexByte(name, '='); i >= 0 {
		name = name[i+1:]
	}
	value = strings.TrimSpace(value)
	if !ok || strings.HasPrefix(value, "//") || strings.ContainsAny(name, " /\\") || !Name(name) {
		return ""
	}
	return value
}

// MaskArgs returns arguments for display: the values of options with secret names, and logins of URLs, are replaced
// by mark.
func MaskArgs(args []string, mark string) []string {
	masked := slices.Clone(args)
	for i, a := range masked {
		masked[i] = MaskURL(a, mark)
	}
	eachArg(args, func(i int, prefix, _ string) { masked[i] = prefix + mark })
	return masked
}

// URL returns the secrets in a configured URL, such as that of an MCP server: the password, a lone user name, which
// is a token, the values of parameters, and random parts of the path.
func URL(address string) []string {
	u, ok := parseURL(address)
	if !ok {
		return nil
	}
	found := inURL(address)
	if u.User != nil {
		if _, set := u.User.Password(); !set {
			found = append(found, u.User.Username())
		}
	}
	for _, pair := range strings.FieldsFunc(u.RawQuery+"&"+u.Fragment, func(r rune) bool { return r == '&' || r == ';' }) {
		name, value, _ := strings.Cut(pair, "=")
		plain, err := url.QueryUnescape(value)
		if err != nil {
			plain = value
		}
		if Name(name) || random(plain) {
			found = append(found, value, plain)
		}
	}
	for part := range strings.SplitSeq(u.Path, "/") {
		if len(part) >= 20 && random(part) {
			found = append(found, part)
		}
	}
	return found
}

// inURL returns the password of a URL, encoded and decoded.
func inURL(text string) []string {
	u, ok := parseURL(text)
	if !ok || u.User == nil {
		return nil
	}
	password, set := u.User.Password()
	if !set {
		return nil
	}
	_, raw, _ := strings.Cut(u.User.String(), ":")
	return []string{password, raw}
}

func parseURL(s string) (*url.URL, bool) {
	if len(s) > 1<<16 || !strings.Contains(s, "://") {
		return nil, false
	}
	u, err := url.Parse(strings.TrimSpace(s))
	return u, err == nil
}

// MaskURL returns a URL without its password and the values of parameters with secret names. Any other text stays.
func MaskURL(s, mark string) string {
	if !strings.ContainsAny(s, "@?") {
		return s
	}
	u, ok := parseURL(s)
	if !ok {
		return s
	}
	const place = "drawbarmask"
	if _, set := u.User.Password(); set {
		u.User = url.UserPassword(u.User.Username(), place)
	}
	parts := strings.Split(u.RawQuery, "&")
	for i, p := range parts {
		if name, _, ok := strings.Cut(p, "="); ok && Name(name) {
			parts[i] = name + "=" + place
		}
	}
	u.RawQuery = strings.Join(parts, "&")
	return strings.ReplaceAll(u.String(), place, mark)
}

// random reports whether a text looks like a key: it contains a run of mixed letters and digits.
func random(s string) bool {
	number, letter, run := false, false, 0
	for i := range len(s) {
		switch c := s[i]; {
		case c <= ' ' || c > '~':
			return false
		case c >= '0' && c <= '9':
			number = true
		case alnum[c]:
			letter = true
		default:
			number, letter, run = false, false, 0
			continue
		}
		if run++; run >= 8 && number && letter {
			return true
		}
	}
	return false
}

// parts returns the texts to search for if value is a secret: the whole, its lines, and its parts.
func parts(value string) []string {
	value = strings.TrimSpace(value)
	if Ordinary(value) {
		return nil
	}
	found := []string{value}
	add := func(list ...string) {
		for _, v := range list {
			if v = strings.TrimSpace(v); v != value && !Ordinary(v) {
				found = append(found, v)
			}
		}
	}
	if scheme, token, ok := strings.Cut(value, " "); ok && !strings.ContainsAny(token, " \n") && slices.Contains(schemes, strings.ToLower(scheme)) {
		add(token)
	}
	if u, ok := parseURL(value); ok && u.Host != "" {
		add(URL(value)...)
		return found
	}
	if strings.HasPrefix(value, "{") && json.Valid([]byte(value)) {
		add(inJSON(value)...)
		return found
	}
	for _, sep := range []string{";", " ", "&", ","} { // a=b;c=d of connection strings and cookies, or a list of keys
		list := strings.Split(value, sep)
		if len(list) == 1 {
			continue
		}
		for _, item := range list {
			name, v, ok := strings.Cut(strings.TrimSpace(item), "=")
			switch {
			case ok && (Name(name) || random(v)):
				add(v)
			case !ok && sep == "," && random(name):
				add(name)
			}
		}
	}
	if strings.Contains(value, "\n") {
		for line := range strings.Lines(value) {
			if line = strings.TrimSpace(line); len(line) >= 8 && !strings.HasPrefix(line, "-----") {
				add(line)
				if name, v, ok := strings.Cut(line, "="); ok && Name(name) {
					add(v)
				}
			}
		}
	}
	return found
}

var schemes = []string{"bearer", "basic", "token", "apikey", "api-key", "key", "bot", "negotiate", "digest"}

// inJSON returns the secrets of a value that is a JSON object, such as the key of a service account.
func inJSON(value string) []string {
	var found []string
	var walk func(name string, v any)
	walk = func(name string, v any) {
		switch v := v.(type) {
		case map[string]any:
			for k := range v {
				walk(k, v[k])
			}
		case []any:
			for i := range v {
				walk(name, v[i])
			}
		case string:
			if _, isURL := parseURL(v); Name(name) && !isURL {
				found = append(found, v)
				if strings.Contains(v, "\n") {
					found = append(found, parts(v)...)
				}
			}
		}
	}
	var v any
	if json.Unmarshal([]byte(value), &v) == nil {
		walk("", v)
	}
	return found
}
