// Command mcp-http-echo-agent serves the tool of package echoturn over streamable HTTP, at 127.0.0.1:8787 or the
// address of -http, path /mcp. It prints its URL when it listens.
//
//	"runtimes": {"echo": {"type": "mcp", "transport": "streamable_http", "url": "http://127.0.0.1:8787/mcp"}}
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/signal"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/drawbar/drawbar/examples/echoturn"
)

func main() {
	address := flag.String("http", "127.0.0.1:8787", "address to listen at")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := serve(ctx, *address); err != nil {
		fmt.Fprintln(os.Stderr, "mcp-http-echo-agent:", err)
		os.Exit(1)
	}
}

func serve(ctx context.Context, address string) error {
	l, err := net.Listen("tcp", address)
	if err != nil {
		return err
	}
	server := echoturn.Server()
	mux := http.NewServeMux()
	mux.Handle("/mcp", mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, nil))
	s := &http.Server{Handler: mux, ReadHeaderTimeout: 10 * time.Second}
	fmt.Printf("http://%s/mcp\n", l.Addr())
	ended := make(chan error, 1)
	go func() { ended <- s.Serve(l) }()
	select {
	case err := <-ended:
		return err
	case <-ctx.Done():
		err := s.Close()
		if served := <-ended; !errors.Is(served, http.ErrServerClosed) {
			err = errors.Join(err, served)
		}
		return err
	}
}
