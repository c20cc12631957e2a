package serve

import (
	"net"
	"net/url"

	"github.com/drawbar/drawbar/adapter/external"
	"github.com/drawbar/drawbar/internal/cli"
)

// CheckURL refuses addresses that are none of a WebSocket, and those that would carry a token in clear to another machine.
func CheckURL(address, token string) error {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" || u.Scheme != "ws" && u.Scheme != "wss" {
		return cli.Usage("%q is not the URL of a WebSocket", address).WithHint("ws://127.0.0.1:PORT, or wss://HOST/PATH for another machine")
	}
	if u.User != nil {
		return cli.Usage("a URL with a password is not taken").WithHint("put the secret into %s", external.Token)
	}
	if ip := net.ParseIP(u.Hostname()); u.Scheme == "ws" && token != "" && u.Hostname() != "localhost" && (ip == nil || !ip.IsLoopback()) {
		return cli.Usage("ws:// would send the token of %s in clear to %s", external.Token, u.Hostname()).
			WithHint("use wss://, or bring the port here: ssh -L 7433:127.0.0.1:7433 %s", u.Hostname())
	}
	return nil
}
