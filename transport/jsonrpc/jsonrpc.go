// Package jsonrpc writes JSON-RPC messages, one line each, and keeps the calls that wait for an answer. It reads nothing and
// moves no bytes: lines are scanned by package jsonscan and carried by package process. It knows nothing of agents.
package jsonrpc

import (
	"encoding/json"
	"iter"
	"maps"
)

// Version is what the messages of JSON-RPC 2.0 state.
const Version = "2.0"

// The error codes of JSON-RPC that a peer answers with.
const (
	CodeParseError     = -32700
	CodeInvalidRequest = -32600
	CodeMethodNotFound = -32601
	CodeInvalidParams  = -32602
	CodeInternalError  = -32603
)

// Message is a request, a notification (without ID), or an answer (without Method). Parts that are nil are left out.
type Message struct {
	Version string `json:"jsonrpc,omitempty"` // empty for protocols that leave it out
	ID      any    `json:"id,omitempty"`      // number of a request of ours, or the id of the peer's request as it stood
	Method  string `json:"method,omitempty"`
	Params  any    `json:"params,omitempty"`
	Result  any    `json:"result,omitempty"`
	Error   *Error `json:"error,omitempty"`
}

// Error is why a request was not carried out.
type Error struct {
	Code    int    `json:"code"`
	Message string `json:"message"`
}

// Line is the message with its line ending. It panics when a part cannot be written as JSON, which is the caller's bug.
func (m Message) Line() []byte {
	b, err := json.Marshal(m)
	if err != nil {
		panic("jsonrpc: a message is no JSON: " + err.Error())
	}
	return append(b, '\n')
}

// Calls are requests that wait for their answer, numbered from 1, each with what the caller wants to know then. The zero value
// is empty. It is not safe for concurrent use.
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

// Take ends the wait for an answer. False means that no request of this number waits: none was made, or it was answered.
func (c *Calls[T]) Take(id int64) (T, bool) {
	call, ok := c.waiting[id]
	delete(c.waiting, id)
	return call, ok
}

// Waiting are the requests without an answer, in no order.
func (c *Calls[T]) Waiting() iter.Seq[T] { return maps.Values(c.waiting) }
