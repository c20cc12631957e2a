package cli

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"

	"github.com/drawbar/drawbar/internal/base/atomicfile"
	"github.com/drawbar/drawbar/internal/base/secret"
	"github.com/drawbar/drawbar/internal/runstore"
)

// typedHistory has the messages that a person typed in conversations, in a file of JSON strings that only they can read. A message with
// something that looks like a secret is remembered until the program ends and is not in the file.
type typedHistory struct {
	path string // empty: it is not kept
	list []string
}

// maxTyped is how many messages the file has at least; it is cut to so many when it has a half more.
const maxTyped = 1000

func openTypedHistory() *typedHistory {
	dir, err := runstore.DefaultDir()
	if err != nil {
		return &typedHistory{}
	}
	h := &typedHistory{path: filepath.Join(dir, "conversation-history.jsonl")}
	text, _ := os.ReadFile(h.path) // there may be none
	for line := range bytes.Lines(text) {
		var message string
		if json.Unmarshal(line, &message) == nil && message != "" {
			h.list = append(h.list, Printable(message))
		}
	}
	if len(h.list) > maxTyped*3/2 {
		h.list = h.list[len(h.list)-maxTyped:]
		var b bytes.Buffer
		for _, message := range h.list {
			b.Write(historyLine(message))
		}
		_ = atomicfile.Write(h.path, b.Bytes(), 0o600, false) // it is only longer than it needs to be
	}
	return h
}

func historyLine(message string) []byte {
	b, _ := json.Marshal(message) // a text always encodes
	return append(b, '\n')
}

// keep adds a message.
func (h *typedHistory) keep(message string) {
	if strings.TrimSpace(message) == "" || len(h.list) > 0 && h.list[len(h.list)-1] == message {
		return
	}
	h.list = append(h.list, message)
	if h.path == "" || secret.New(secret.Environ(os.Environ())).Text(message) != message {
		return
	}
	if os.MkdirAll(filepath.Dir(h.path), 0o700) != nil {
		return
	}
	f, err := os.OpenFile(h.path, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o600)
	if err != nil {
		return // a conversation goes on without it
	}
	_, _ = f.Write(historyLine(message)) // one write, so that those of two programs do not mix
	_ = f.Close()
}
