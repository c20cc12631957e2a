package toolserver

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/internal/base/stranger"
)

// Handler carries out a call. It is called concurrently. An error means that the caller cannot be reached; a tool
// that fails returns a ToolResult with Error set. The agent sees both as a failed call. ctx ends when the agent
// cancels the call or the server closes.
type Handler func(ctx context.Context, call execution.ToolCall) (execution.ToolResult, error)

// bodyLimit bounds a request, and with it the input of a call.
const bodyLimit = 64 << 20

// path is the server's path.
const path = "/mcp"

// Server is a running tool server. It is safe for concurrent use. The opener closes it.
type Server struct {
	handle Handler
	token  string
	digest [sha256.Size]byte // hash of the token, so that comparisons take constant time
	url    string
	mcp    *mcp.Server
	http   *http.Server
	served chan struct{} // closed when the listener has stopped

	end    context.Context // lifetime of the server; calls also end with their request
	cancel context.CancelFunc
	serial atomic.Int64
	active atomic.Int64

	mu       sync.Mutex
	closed   bool
	requests sync.WaitGroup // Add under mu, while not closed
}

// Open starts a server on a free port of 127.0.0.1. An input schema without a type gets the type "object", because
// the input of a tool is an object. A schema of another type, or one that is not JSON, is an *execution.Error with
// code VALIDATION_ERROR.
func Open(tools []execution.Tool, handle Handler) (*Server, error) {
	var secret [32]byte
	_, _ = rand.Read(secret[:]) // never fails
	s := &Server{handle: handle, token: hex.EncodeToString(secret[:]), served: make(chan struct{})}
	s.digest = sha256.Sum256([]byte(s.token))
	s.end, s.cancel = context.WithCancel(context.Background())
	s.mcp = mcp.NewServer(&mcp.Implementation{Name: "drawbar", Version: execution.SchemaVersion},
		&mcp.ServerOptions{Capabilities: &mcp.ServerCapabilities{Tools: &mcp.ToolCapabilities{}}})
	for i, t := range tools {
		if err := s.add(t); err != nil {
			s.cancel()
			return nil, &execution.Error{Code: execution.CodeValidation, Message: fmt.Sprintf("tools[%d] %q: %v", i, t.Name, err)}
		}
	}
	// Not "localhost": it may be ::1, and agents differ in which address they try first.
	listener, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		s.cancel()
		return nil, fmt.Errorf("open the tool server: %w", err)
	}
	s.url = "http://" + listener.Addr().String() + path
	transport := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return s.mcp },
		&mcp.StreamableHTTPOptions{MaxRequestBodyBytes: bodyLimit})
	s.http = &http.Server{
		Handler: s.guard(transport),
		// Until a request's token is verified, the peer may be any local process.
		ReadHeaderTimeout: 5 * time.Second,
		IdleTimeout:       5 * time.Minute,
		MaxHeaderBytes:    8 << 10,
		ConnContext:       func(ctx context.Context, c net.Conn) context.Context { return context.WithValue(ctx, connKey{}, c) },
		ErrorLog:          log.New(io.Discard, "", 0), // the agent gets the error response; nobody else reads this log
	}
	go func() {
		defer close(s.served)
		_ = s.http.Serve(stranger.Listener{Listener: listener, Room: stranger.New(stranger.Limit)}) // returns ErrServerClosed
	}()
	return s, nil
}

// MCPServer describes the server as one to attach to a run.
func (s *Server) MCPServer(name string) execution.MCPServer {
	return execution.MCPServer{Name: name, Transport: execution.MCPStreamableHTTP, URL: s.url,
		Headers: map[string]string{"Authorization": "Bearer " + s.token}}
}

// Active returns the number of running calls.
func (s *Server) Active() int { return int(s.active.Load()) }

// Close stops the server: it cancels running calls and waits for their handlers, for every request and for every
// goroutine. Later calls of Close wait for the same.
func (s *Server) Close() error {
	s.mu.Lock()
	s.closed = true
	s.mu.Unlock()
	s.cancel()
	err := s.http.Close()
	<-s.served
	s.requests.Wait()
	// No request is left that could open another session. Closing a session waits for its calls.
	for session := range s.mcp.Sessions() {
		err = errors.Join(err, session.Close())
	}
	return err
}

// connKey is the key of the connection in a request's context.
type connKey struct{}

// guard admits requests with the token and counts them.
func (s *Server) guard(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !s.authorized(r) {
			w.Header().Set("Connection", "close") // the body is not read
			w.Header().Set("WWW-Authenticate", "Bearer")
			http.Error(w, "the bearer token of the run is missing or wrong", http.StatusUnauthorized)
			return
		}
		if c, ok := r.Context().Value(connKey{}).(net.Conn); ok {
			stranger.Known(c)
		}
		if r.URL.Path != path {
			http.NotFound(w, r)
			return
		}
		s.mu.Lock()
		if s.closed {
			s.mu.Unlock()
			http.Error(w, "the run has ended", http.StatusServiceUnavailable)
			return
		}
		s.requests.Add(1)
		s.mu.Unlock()
		defer s.requests.Done()
		if r.Header.Get("Mcp-Method") == methodDiscover {
			refuseDiscovery(w, r)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// methodDiscover is how a client of a later version of the protocol begins. The SDK answers with a list of earlier
// versions, at which some clients give up; they begin with initialize if the method is unknown.
const methodDiscover = "server/discover"

func refuseDiscovery(w http.ResponseWriter, r *http.Request) {
	var request struct {
		ID json.RawMessage `json:"id"`
	}
	if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, bodyLimit)).Decode(&request); err != nil || len(request.ID) == 0 {
		http.Error(w, "the request is not a JSON-RPC request", http.StatusBadRequest)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"this server begins with initialize"}}`, request.ID)
}

func (s *Server) authorized(r *http.Request) bool {
	scheme, token, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	got := sha256.Sum256([]byte(strings.TrimSpace(token)))
	return subtle.ConstantTimeCompare(got[:], s.digest[:]) == 1 && strings.EqualFold(scheme, "bearer")
}

func (s *Server) add(t execution.Tool) (err error) {
	schema, err := inputSchema(t.InputSchema)
	if err != nil {
		return err
	}
	defer func() {
		// The SDK reports an invalid schema by a panic.
		if r := recover(); r != nil {
			err = fmt.Errorf("the input schema cannot be served: %v", r)
		}
	}()
	s.mcp.AddTool(&mcp.Tool{Name: t.Name, Description: t.Description, InputSchema: schema}, s.call)
	return nil
}

func inputSchema(schema json.RawMessage) (json.RawMessage, error) {
	if len(schema) == 0 {
		return json.RawMessage(`{"type":"object"}`), nil
	}
	var members map[string]json.RawMessage
	if err := json.Unmarshal(schema, &members); err != nil || members == nil {
		return nil, errors.New("the input schema is not a JSON object")
	}
	switch typ, ok := members["type"]; {
	case !ok:
		members["type"] = json.RawMessage(`"object"`)
		return json.Marshal(members)
	case string(typ) != `"object"`:
		return nil, fmt.Errorf("the input schema has the type %s, want \"object\"", typ)
	}
	return schema, nil
}

// call carries out one call. Failures go to the model, which can react to them, rather than becoming errors of the
// protocol.
func (s *Server) call(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	s.active.Add(1)
	defer s.active.Add(-1)
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(s.end, func() { cancel(errors.New("the run has ended")) })()

	input := req.Params.Arguments
	if len(input) == 0 {
		input = json.RawMessage(`{}`)
	}
	res, err := s.handleSafely(ctx, execution.ToolCall{
		ID: "drawbar-" + strconv.FormatInt(s.serial.Add(1), 10), Name: req.Params.Name, Input: input})
	switch {
	case err != nil:
		return failed(fmt.Sprintf("the tool %s could not be called: %v", req.Params.Name, err)), nil
	case res.Error != "":
		return failed(res.Error), nil
	case len(res.Output) == 0:
		return &mcp.CallToolResult{Content: []mcp.Content{}}, nil
	}
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: text(res.Output)}}}, nil
}

func (s *Server) handleSafely(ctx context.Context, call execution.ToolCall) (res execution.ToolResult, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("its handler panicked: %v", r)
		}
	}()
	return s.handle(ctx, call)
}

func failed(text string) *mcp.CallToolResult {
	return &mcp.CallToolResult{IsError: true, Content: []mcp.Content{&mcp.TextContent{Text: text}}}
}

// text returns an output as a model reads it: a JSON string without its quotes, anything else unchanged.
func text(output json.RawMessage) string {
	var s string
	if json.Unmarshal(output, &s) == nil {
		return s
	}
	return string(output)
}
