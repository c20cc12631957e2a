package conformance

import (
	"errors"
	"os"
	"path/filepath"
	"strings"

	"github.com/drawbar/drawbar/adapter/kit/oshost"
	"github.com/drawbar/drawbar/govern/protocol"
	"github.com/drawbar/drawbar/internal/cli"
	"github.com/drawbar/drawbar/internal/governed/conformance"
	"github.com/drawbar/drawbar/internal/governed/conformance/product"
)

// self is the name of this program as a command.
const self = "self"

// open returns the target of --target and a function that closes it.
func (c *command) open() (conformance.Target, func(), error) {
	none := func() {}
	remote := strings.HasPrefix(c.target, "http://") || strings.HasPrefix(c.target, "https://")
	if c.token != "" && !remote {
		return nil, none, cli.Usage("--token needs a --target that is a URL").WithHint("--target https://...")
	}
	lookPath := oshost.New(nil).LookPath
	switch {
	case c.target == "":
		return product.Target(c.app.Version), none, nil
	case c.target == self:
		exe, err := os.Executable()
		if err != nil {
			return nil, none, err
		}
		claims := product.Target(c.app.Version).Claims
		return &conformance.Stdio{Claims: claims, Path: exe, Args: claims.Adapter.Command[1:], Env: os.Environ(), Jobs: product.Target("").Jobs}, none, nil
	case remote:
		token := c.token
		if token == "" {
			token = c.app.Getenv(tokenVariable)
		}
		t, err := conformance.OpenHTTP(c.target, token)
		if err != nil {
			return nil, none, cli.Usage("--target: %v", err).WithHint("--target https://HOST/PATH; give the token with --token")
		}
		return t, t.Close, nil
	}
	if info, err := os.Stat(c.path(c.target)); err == nil && info.IsDir() {
		t, err := conformance.OpenStdio(c.path(c.target), os.Environ(), lookPath)
		if err != nil {
			return nil, none, cli.Usage("--target: %v", err).WithHint("a folder needs %s; give a program as --target COMMAND", conformance.CapabilitiesFile)
		}
		return t, none, nil
	}
	words, err := split(c.target)
	if err != nil {
		return nil, none, cli.Usage("--target %s: %v", c.target, err).WithHint("--target \"PROGRAM ARGUMENT...\"")
	}
	path, err := c.program(words[0], lookPath)
	if err != nil {
		return nil, none, cli.Usage("--target: no program and no folder named %s was found: %v", words[0], err).
			WithHint("--target COMMAND, a folder with %s, a URL, or self", conformance.CapabilitiesFile)
	}
	return &conformance.Stdio{
		Claims: conformance.Capabilities{Implementation: words[0], ProtocolVersion: protocol.ProtocolVersion, Tiers: []int{1, 2, 3},
			Adapter: conformance.AdapterSpec{Protocol: conformance.StdioProtocol, Command: words}},
		Path: path, Args: words[1:], Dir: c.dir, Env: os.Environ(),
	}, none, nil
}

// program is the path of a program: on the PATH, or relative if its name contains a folder.
func (c *command) program(name string, lookPath func(string) (string, error)) (string, error) {
	if !strings.ContainsAny(name, `/`+string(filepath.Separator)) {
		return lookPath(name)
	}
	_, err := os.Stat(c.path(name))
	return c.path(name), err
}

// split splits a command at spaces. Single and double quotes keep spaces, and a backslash escapes the next character,
// except in single quotes; nothing is expanded.
func split(command string) ([]string, error) {
	var words []string
	var word strings.Builder
	begun := false
	var quote rune
	escaped := false
	for _, r := range command {
		switch {
		case escaped:
			word.WriteRune(r)
			escaped = false
		case r == '\\' && quote != '\'' && filepath.Separator == '/':
			escaped, begun = true, true
		case quote != 0 && r == quote:
			quote = 0
		case quote != 0:
			word.WriteRune(r)
		case r == '\'' || r == '"':
			quote, begun = r, true
		case r == ' ' || r == '\t' || r == '\n':
			if begun {
				words = append(words, word.String())
			}
			word.Reset()
			begun = false
		default:
			word.WriteRune(r)
			begun = true
		}
	}
	if quote != 0 || escaped {
		return nil, errors.New("unclosed quote")
	}
	if begun {
		words = append(words, word.String())
	}
	if len(words) == 0 || words[0] == "" {
		return nil, errors.New("it does not name a program")
	}
	return words, nil
}
