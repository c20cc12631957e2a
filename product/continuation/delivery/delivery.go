// Package delivery takes the answers of resumed turns to where a text names: a webhook, a program or a folder. Every way may be taken twice after a
// crash; the key in what is delivered is the same then, so that the receiver can tell.
package delivery

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/drawbar/drawbar/adapter"
	"github.com/drawbar/drawbar/internal/base/atomicfile"
	"github.com/drawbar/drawbar/product/continuation"
	"github.com/drawbar/drawbar/transport/httpcall"
)

// Note is what is delivered, as JSON.
type Note struct {
	Key            string `json:"key"` // the same for every attempt
	ContinuationID string `json:"continuationId"`
	AssistantID    string `json:"assistantId"`
	TurnID         string `json:"turnId"` // that could not end
	SessionID      string `json:"sessionId,omitempty"`
	ThreadID       string `json:"threadId,omitempty"`
	UserID         string `json:"userId,omitempty"`
	Text           string `json:"text"`
}

// limit is how long one attempt may take, maxAnswer what is read of an answer.
const (
	limit     = 30 * time.Second
	maxAnswer = 64 << 10
)

// Ways delivers to surfaces of these forms:
//
//	webhook:URL       a POST of the note, with the key in the header Idempotency-Key; anything but a status of 2xx is a failure
//	command:ARGV      a program with its arguments, words or a JSON array; the note is its standard input, and a code other than 0 is a failure
//	file:DIRECTORY    the file KEY.json in it, replaced as a whole
type Ways struct {
	Spawn func(context.Context, adapter.SpawnRequest) (adapter.SpawnOutcome, error) // of programs
	HTTP  http.RoundTripper                                                         // nil is a transport of its own
}

// Check refuses a surface that Deliver cannot serve. A relative path is not refused; it is relative to the process that delivers.
func Check(surface string) error {
	kind, target, ok := strings.Cut(surface, ":")
	if !ok || target == "" {
		return fmt.Errorf("%q names no way of delivery; it is webhook:URL, command:PROGRAM or file:DIRECTORY", surface)
	}
	switch kind {
	case "webhook":
		u, err := url.Parse(target)
		if err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http" {
			return errors.New("a webhook needs a URL that begins with https:// or http://")
		}
	case "command":
		_, err := argv(target)
		return err
	case "file":
	default:
		return fmt.Errorf("the way of delivery %q is unknown; there are webhook, command and file", kind)
	}
	return nil
}

func argv(target string) (words []string, err error) {
	if strings.HasPrefix(target, "[") {
		if err := json.Unmarshal([]byte(target), &words); err != nil {
			return nil, fmt.Errorf("the command is not an array of words: %w", err)
		}
	} else {
		words = strings.Fields(target)
	}
	if len(words) == 0 || words[0] == "" {
		return nil, errors.New("the command names no program")
	}
	return words, nil
}

// Deliver is a continuation.Options.Deliver.
func (w Ways) Deliver(ctx context.Context, key string, r continuation.Record) error {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	note, err := json.Marshal(Note{Key: key, ContinuationID: r.ID, AssistantID: r.AssistantID, TurnID: r.Origin.TurnID, SessionID: r.SessionID, ThreadID: r.ThreadID,
		UserID: r.UserID, Text: r.Delivery.Text})
	if err != nil {
		return err
	}
	for _, surface := range r.Delivery.Surfaces {
		if err := w.to(ctx, surface, key, note); err != nil {
			return fmt.Errorf("deliver by %s: %w", kindOf(surface), err)
		}
	}
	return nil
}

// kindOf is what of a surface is not secret: a URL may hold a token.
func kindOf(surface string) string {
	kind, _, _ := strings.Cut(surface, ":")
	return kind
}

func (w Ways) to(ctx context.Context, surface, key string, note []byte) error {
	if err := Check(surface); err != nil {
		return err
	}
	kind, target, _ := strings.Cut(surface, ":")
	switch kind {
	case "webhook":
		client := httpcall.New(w.HTTP)
		defer client.Close()
		answer, err := client.Do(ctx, httpcall.Call{URL: target, Header: http.Header{"Content-Type": {"application/json"}, "Idempotency-Key": {key}}, Body: note, Limit: maxAnswer})
		if err != nil {
			return err
		}
		if err := answer.Body.Close(); err == nil && answer.Status/100 == 2 {
			return nil
		}
		return fmt.Errorf("the server answered %d", answer.Status)
	case "command":
		words, err := argv(target)
		if err != nil {
			return err
		}
		dir, err := os.Getwd()
		if err != nil {
			return err
		}
		out, err := w.Spawn(ctx, adapter.SpawnRequest{Command: words[0], Args: words[1:], Stdin: note, Cwd: dir, Env: map[string]string{"DRAWBAR_DELIVERY_KEY": key}})
		if err == nil && out.Code != 0 {
			err = fmt.Errorf("%s exits with code %d: %.200s", words[0], out.Code, strings.TrimSpace(out.Stderr))
		}
		return err
	}
	if err := os.MkdirAll(target, 0o700); err != nil {
		return err
	}
	return atomicfile.Write(filepath.Join(target, key+".json"), append(note, '\n'), 0o600, true)
}
