package modelapi

import (
	"net/http"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/drawbar/drawbar/execution"
)

// placeholders are the variables in the value of a header, as {NAME}.
var placeholders = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\{[A-Za-z_][A-Za-z0-9_]*\}`) })

// HeaderVariables returns the variables that the values of headers name as {NAME}, in the order of their names.
func HeaderVariables(headers map[string]string) (names []string) {
	for _, value := range headers {
		for _, found := range placeholders().FindAllString(value, -1) {
			names = append(names, strings.Trim(found, "{}"))
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// secrets are the variables without which the service refuses a call: a key, and those of the headers.
func (s *Spec) secrets() []string {
	return append(slices.Clone(s.KeyVars), HeaderVariables(s.Headers)...)
}

// headers returns the further headers, and the values in them that are secret.
func (s *Spec) headers(getenv func(string) string) (header http.Header, hidden []string, err *execution.Error) {
	values := map[string]string{}
	for _, name := range HeaderVariables(s.Headers) {
		value := strings.TrimSpace(getenv(name))
		switch {
		case value == "":
			err = execution.Errorf(execution.CodeAuth, "%s needs the variable %s, which is not set", s.Title, name)
		case !printable(value):
			err = execution.Errorf(execution.CodeAuth, "the variable %s contains a character that no header can have", name)
		}
		if err != nil {
			err.Agent = s.Name
			return nil, nil, err.WithHint("%s", s.keyHint())
		}
		values[name] = value
		hidden = append(hidden, value)
	}
	header = http.Header{}
	for name, value := range s.Headers {
		header.Set(name, placeholders().ReplaceAllStringFunc(value, func(found string) string { return values[strings.Trim(found, "{}")] }))
	}
	return header, hidden, nil
}

// printable reports whether a text can be the value of a header that has no space.
func printable(text string) bool {
	return !strings.ContainsFunc(text, func(c rune) bool { return c <= ' ' || c > '~' })
}
