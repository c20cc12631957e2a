package model

import (
	"errors"
	"io"
	"net/netip"
	"net/url"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/drawbar/drawbar/internal/base/secret"
	"github.com/drawbar/drawbar/internal/cli"
	"github.com/drawbar/drawbar/internal/modelserver"
	"github.com/drawbar/drawbar/internal/modelserver/cassette"
)

func newRecord(app *cli.App) *cobra.Command {
	var (
		to        string
		add       bool
		upstreams []string
		at        place
	)
	cmd := &cobra.Command{
		Use: "record --to FILE", Short: "Pass model requests to the real APIs and record the answers",
		Long: `Pass the requests of agents to the APIs of Anthropic, OpenAI and Google, and record requests and answers in a cassette, from which
"drawbar model replay" answers later without key, network or cost. Give agents the printed address in place of the API's.

A cassette is a file of JSON lines, one exchange a line, to be kept in a repository and edited by hand: {"cassette":1}, then
{"request":{"method","path","side","body"},"answer":{"status","header","json"|"stream"|"text"|"base64","cut"}}. Request headers,
keys, user and session ids are left out; secrets in texts are replaced: the keys of the requests, the secret variables of the environment,
and well-known forms of keys. Review a cassette before you commit it: prompts, files that the agent read, and paths are in it.

A key goes to the upstream of its request only; redirects are not followed. --upstream replaces all upstreams, or with
WIRE=URL that of one wire: anthropic, responses, chat or gemini.`,
		Example: `  drawbar model record --to fix.jsonl --addr 127.0.0.1:18080 &
  ANTHROPIC_BASE_URL=http://127.0.0.1:18080 drawbar run claude "fix the failing test"
  drawbar model record --to chat.jsonl --append --upstream chat=https://openrouter.ai/api/v1`,
		Args: cli.Args(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) (err error) {
			if to == "" {
				return cli.Usage("no cassette is given").WithHint("--to FILE; see drawbar model record --help")
			}
			roots, err := parseUpstreams(upstreams)
			if err != nil {
				return err
			}
			w, err := cassette.Create(to, add)
			switch {
			case errors.Is(err, cassette.ErrExists):
				return cli.Usage("--to %s: the file exists", to).WithHint("--append adds to it; to record anew, remove it or name another file")
			case err != nil:
				return cli.Usage("--to %s: %v", to, err)
			}
			defer func() { err = errors.Join(err, w.Close()) }()
			var recorder *modelserver.Recorder
			err = at.serve(cmd, app, func(log io.Writer) (listener, error) {
				recorder = modelserver.NewRecorder(modelserver.RecordOptions{
					To: w, Upstreams: roots, Secrets: secret.Environ(os.Environ()), Log: log, Logger: app.Logger(),
				})
				return recorder, nil
			})
			if recorder != nil {
				recorder.Close()
			}
			return err
		},
	}
	cmd.Flags().StringVar(&to, "to", "", "cassette to write")
	cmd.Flags().BoolVar(&add, "append", false, "add to an existing cassette")
	cmd.Flags().StringArrayVar(&upstreams, "upstream", nil, "[WIRE=]URL of the API to ask in place of the vendors' own (repeatable)")
	at.register(cmd)
	return cmd
}

// parseUpstreams reads --upstream. Without a wire it is the root of everything.
func parseUpstreams(list []string) (map[modelserver.Wire]*url.URL, error) {
	roots := modelserver.Upstreams()
	given := map[modelserver.Wire]bool{}
	for _, text := range list {
		name, address, ok := strings.Cut(text, "=")
		wire := modelserver.Wire(name)
		if !ok || strings.Contains(name, "/") {
			wire, address = "", text
		}
		if wire != "" && modelserver.Upstreams()[wire] == nil || ok && name == "" {
			return nil, cli.Usage("--upstream %s: %q is not a wire", secret.MaskURL(text, secret.Mark), name).WithHint("use anthropic, responses, chat or gemini")
		}
		if given[wire] {
			return nil, cli.Usage("--upstream is given twice for the same wire").WithHint("use WIRE=URL for several upstreams")
		}
		given[wire] = true
		u, err := url.Parse(address)
		switch {
		case err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https":
			return nil, cli.Usage("--upstream: it is not the URL of an API").WithHint("use one such as https://api.example.com")
		case u.User != nil || u.RawQuery != "" || u.Fragment != "":
			return nil, cli.Usage("--upstream: the URL must not have a user, a query or a fragment").WithHint("keys come with the agent's requests")
		case u.Scheme == "http" && !loopback(u.Hostname()):
			return nil, cli.Usage("--upstream %s: keys would be sent unencrypted", address).WithHint("use https; http is for this machine only")
		}
		if wire == "" {
			roots = map[modelserver.Wire]*url.URL{}
		}
		roots[wire] = u
	}
	if given[""] && len(given) > 1 {
		return nil, cli.Usage("--upstream is given with and without a wire").WithHint("use WIRE=URL for each, or one URL for all")
	}
	return roots, nil
}

func loopback(host string) bool {
	ip, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && ip.Unmap().IsLoopback()
}
