package mcpclient

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"go.uber.org/goleak"

	"github.com/drawbar/drawbar/internal/base/testenv"
	"github.com/drawbar/drawbar/transport/process"
)

const fakeEnv = "MCPCLIENT_TEST"

// TestMain plays an MCP server if the environment says so.
func TestMain(m *testing.M) {
	process.MaybeKeeper()
	switch os.Getenv(fakeEnv) {
	case "":
		testenv.Setup(4)
		goleak.VerifyTestMain(m)
		return
	case "dies":
		fmt.Fprintln(os.Stderr, "no configuration file")
		os.Exit(3)
	case "hangs":
		time.Sleep(time.Minute)
	case "garbage":
		fmt.Println(`{"jsonrpc":`)
		time.Sleep(time.Minute)
	case "many":
		s := mcp.NewServer(&mcp.Implementation{Name: "many", Version: "1"}, nil)
		for i := range maxTools + 1 {
			s.AddTool(&mcp.Tool{Name: fmt.Sprint("t", i), InputSchema: map[string]any{"type": "object"}}, func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
				return &mcp.CallToolResult{}, nil
			})
		}
		_ = s.Run(context.Background(), &mcp.StdioTransport{})
	default:
		fmt.Println("a banner for people")
		_ = serve().Run(context.Background(), &mcp.StdioTransport{})
	}
	os.Exit(0)
}

type in struct {
	Text string `json:"text,omitempty"`
}

// serve is a server whose tools answer in every way.
func serve() *mcp.Server {
	s := mcp.NewServer(&mcp.Implementation{Name: "fake", Version: "1"}, nil)
	add := func(name string, answer func(context.Context, in) (*mcp.CallToolResult, error)) {
		mcp.AddTool(s, &mcp.Tool{Name: name, Description: "does " + name}, func(ctx context.Context, _ *mcp.CallToolRequest, v in) (*mcp.CallToolResult, any, error) {
			res, err := answer(ctx, v)
			return res, nil, err
		})
	}
	content := func(list ...mcp.Content) (*mcp.CallToolResult, error) { return &mcp.CallToolResult{Content: list}, nil }
	add("echo", func(_ context.Context, v in) (*mcp.CallToolResult, error) {
		return content(&mcp.TextContent{Text: v.Text})
	})
	add("env", func(_ context.Context, v in) (*mcp.CallToolResult, error) {
		return content(&mcp.TextContent{Text: os.Getenv(v.Text)})
	})
	add("mixed", func(context.Context, in) (*mcp.CallToolResult, error) {
		return content(&mcp.TextContent{Text: "a"}, &mcp.ImageContent{Data: []byte("xyz"), MIMEType: "image/png"}, &mcp.AudioContent{Data: []byte("x"), MIMEType: "audio/wav"},
			&mcp.ResourceLink{URI: "file:///r", Name: "r"}, &mcp.EmbeddedResource{Resource: &mcp.ResourceContents{URI: "file:///e", Text: "inside"}},
			&mcp.EmbeddedResource{Resource: &mcp.ResourceContents{URI: "file:///b", Blob: []byte("12345")}})
	})
	add("images", func(context.Context, in) (*mcp.CallToolResult, error) {
		res, err := content(&mcp.ImageContent{Data: []byte("no image"), MIMEType: "image/png"}, &mcp.EmbeddedResource{Resource: &mcp.ResourceContents{URI: "file:///i", Blob: []byte("GIF89a")}})
		for range maxImages {
			res.Content = append(res.Content, &mcp.ImageContent{Data: []byte("\x89PNG\r\n\x1a\n"), MIMEType: "text/plain"})
		}
		return res, err
	})
	mcp.AddTool(s, &mcp.Tool{Name: "samples", Description: "asks for a model's answer"}, func(ctx context.Context, req *mcp.CallToolRequest, _ in) (*mcp.CallToolResult, any, error) {
		_, err := req.Session.CreateMessage(ctx, &mcp.CreateMessageParams{MaxTokens: 10, Messages: []*mcp.SamplingMessage{{Role: "user", Content: &mcp.TextContent{Text: "what is the key?"}}}}) //nolint:staticcheck // servers of today ask
		return nil, nil, err
	})
	add("nothing", func(context.Context, in) (*mcp.CallToolResult, error) { return content() })
	add("structured", func(context.Context, in) (*mcp.CallToolResult, error) {
		return &mcp.CallToolResult{Content: []mcp.Content{}, StructuredContent: map[string]any{"a": 1}}, nil
	})
	add("fails", func(context.Context, in) (*mcp.CallToolResult, error) { return nil, errors.New("it is broken") })
	add("long", func(context.Context, in) (*mcp.CallToolResult, error) {
		return content(&mcp.TextContent{Text: strings.Repeat("x", 1<<20)})
	})
	add("waits", func(ctx context.Context, _ in) (*mcp.CallToolResult, error) {
		select {
		case <-ctx.Done():
		case <-time.After(time.Minute):
		}
		return content()
	})
	add("exits", func(context.Context, in) (*mcp.CallToolResult, error) {
		fmt.Fprintln(os.Stderr, "out of memory")
		os.Exit(4)
		return nil, nil
	})
	add("dots.and/slashes", func(context.Context, in) (*mcp.CallToolResult, error) {
		return content(&mcp.TextContent{Text: "dotted"})
	})
	return s
}
