// Command mcp-echo-agent serves the tool of package echoturn: over standard input and output, or with -http over
// streamable HTTP.
//
//	"runtimes": {"echo": {"type": "mcp", "command": ["go", "run", "./examples/mcp-echo-agent"]}}
//	"runtimes": {"echo": {"type": "mcp", "transport": "streamable_http", "url": "http://127.0.0.1:8787/mcp"}}
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"net/http"
	"os"
	"os/signal"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/drawbar/drawbar/examples/echoturn"
)

func main() {
	address := flag.String("http", "", "serve streamable HTTP at this address, such as 127.0.0.1:8787, path /mcp")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := serve(ctx, *address); err != nil && !errors.Is(err, context.Canceled) {
		fmt.Fprintln(os.Stderr, "mcp-echo-agent:", err)
		os.Exit(1)
	}
}

func serve(ctx context.Context, address string) error {
	if address == "" {
		return echoturn.Server().Run(ctx, &mcp.StdioTransport{})
	}
	server := echoturn.Server()
	mux := http.NewServeMux()
	mux.Handle("/mcp", mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, nil))
	s := &http.Server{Addr: address, Handler: mux, ReadHeaderTimeout: 10 * time.Second}
	ended := make(chan error, 1)
	go func() { ended <- s.ListenAndServe() }()
	select {
	case err := <-ended:
		return err
	case <-ctx.Done():
		return s.Close()
	}
}
