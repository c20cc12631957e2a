// Package jsonrpc encodes JSON-RPC messages, one line each, and tracks calls that wait for a reply. It reads nothing
// and performs no I/O: package jsonscan scans lines, and package process transports them. It knows nothing about
// agents.
package jsonrpc

import (
	"encoding/json"
	"iter"
	"maps"
)

// Version is the version in messages of JSON-RPC 2.0.
const Version = "2.0"

// Error codes of JSON-RPC.
const (
	CodeMethodNotFound = -32601
	CodeInvalidParams  = -32602
)

// Message is a request, a notification (without ID), or a reply (without Method). Nil parts are omitted.
type Message struct {
	Version string `json:"jsonrpc,omitempty"` // empty for protocols that omit it
	ID      any    `json:"id,omitempty"`      // number of our request, or the verbatim id of the peer's request
	Method  string `json:"method,omitempty"`
	Params  any    `json:"params,omitempty"`
	Result  any    `json:"result,omitempty"`
	Error   *Error `json:"error,omitempty"`
}

// Error is why a request failed.
type Error struct {
	Code    int    `json:"code"`
	Message string `json:"message"`
	Data    any    `json:"data,omitempty"`
}

// Line encodes the message with its line ending. It panics if a part cannot be encoded as JSON, which is a bug of the
// caller.
func (m Message) Line() []byte {
	b, err := json.Marshal(m)
	if err != nil {
		panic("jsonrpc: a message is not JSON: " + err.Error())
	}
	return append(b, '\n')
}

// Calls are requests that wait for a reply, numbered from 1, each with a value of the caller. The zero value is
// empty. It is not safe for concurrent use.
type Calls[T any] struct {
	last    int64
	waiting map[int64]T
}

// Add numbers a request.
func (c *Calls[T]) Add(call T) (id int64) {
	if c.waiting == nil {
		c.waiting = map[int64]T{}
	}
	c.last++
	c.waiting[c.last] = call
	return c.last
}

// Take removes and returns a call. It returns false if no request of this number waits.
func (c *Calls[T]) Take(id int64) (T, bool) {
	call, ok := c.waiting[id]
	delete(c.waiting, id)
	return call, ok
}

// Waiting returns the requests without a reply, in no particular order.
func (c *Calls[T]) Waiting() iter.Seq[T] { return maps.Values(c.waiting) }
