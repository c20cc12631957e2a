package jsonrpc

import (
	"encoding/json"
	"slices"
	"testing"
)

func TestLine(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		m    Message
		want string
	}{
		{Message{Version: Version, ID: int64(1), Method: "m", Params: struct{}{}}, `{"jsonrpc":"2.0","id":1,"method":"m","params":{}}`},
		{Message{Method: "n"}, `{"method":"n"}`},
		{Message{Version: Version, ID: json.RawMessage(`"x-0"`), Result: map[string]int{"a": 1}}, `{"jsonrpc":"2.0","id":"x-0","result":{"a":1}}`},
		{Message{ID: int64(0), Error: &Error{Code: CodeMethodNotFound, Message: "no\nsuch"}}, `{"id":0,"error":{"code":-32601,"message":"no\nsuch"}}`},
	} {
		if got := string(tt.m.Line()); got != tt.want+"\n" {
			t.Errorf("%q, want %q", got, tt.want)
		}
	}
}

func TestLineOfWhatIsNoJSON(t *testing.T) {
	t.Parallel()
	defer func() {
		if recover() == nil {
			t.Error("no panic")
		}
	}()
	Message{Params: func() {}}.Line()
}

func TestCalls(t *testing.T) {
	t.Parallel()
	var c Calls[string]
	if _, ok := c.Take(1); ok {
		t.Error("a call that was never made was answered")
	}
	a, b := c.Add("a"), c.Add("b")
	if a != 1 || b != 2 {
		t.Errorf("numbers %d and %d", a, b)
	}
	if got, ok := c.Take(b); !ok || got != "b" {
		t.Errorf("%q %v", got, ok)
	}
	if _, ok := c.Take(b); ok {
		t.Error("a call was answered twice")
	}
	if left := slices.Collect(c.Waiting()); !slices.Equal(left, []string{"a"}) {
		t.Errorf("%q wait", left)
	}
	if next := c.Add("c"); next != 3 {
		t.Errorf("number %d was given again", next)
	}
}
