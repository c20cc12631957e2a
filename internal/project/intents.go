package project

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/drawbar/drawbar/internal/governance/protocol"
)

// intentsDir is where the original keeps the work that it took in.
const intentsDir = protocol.Dir + "/intake/intents"

// Intent is work that the original took in and that waits for a turn. Drawbar binds none.
type Intent struct {
	ID       string `json:"intent_id"`
	Status   string `json:"status"`
	Priority string `json:"priority"`
	Charter  string `json:"charter"`
}

// Intents are those that wait, the most urgent first. What cannot be read is passed over: the original's own commands name it.
func Intents(root string) []Intent {
	const most, size = 200, 1 << 20
	r, err := os.OpenRoot(root)
	if err != nil {
		return nil
	}
	defer func() { _ = r.Close() }() // nothing is written through it
	dir, err := r.Open(filepath.FromSlash(intentsDir))
	if err != nil {
		return nil
	}
	defer func() { _ = dir.Close() }()
	names, _ := dir.Readdirnames(most)
	var list []Intent
	for _, name := range names {
		info, err := r.Lstat(filepath.Join(filepath.FromSlash(intentsDir), name))
		if err != nil || !info.Mode().IsRegular() || !strings.HasSuffix(name, ".json") {
			continue
		}
		f, err := r.Open(filepath.Join(filepath.FromSlash(intentsDir), name))
		if err != nil {
			continue
		}
		b, err := io.ReadAll(io.LimitReader(f, size))
		_ = f.Close()
		var in Intent
		if err == nil && json.Unmarshal(b, &in) == nil && in.ID != "" && (in.Status == "approved" || in.Status == "planned") {
			list = append(list, in)
		}
	}
	slices.SortFunc(list, func(a, b Intent) int {
		return cmp.Or(strings.Compare(a.Priority, b.Priority), strings.Compare(a.ID, b.ID))
	})
	return list
}

// Waiting is one line about intents; empty without any.
func Waiting(list []Intent) string {
	if len(list) == 0 {
		return ""
	}
	return fmt.Sprintf("intents that agentxchain took in wait (%d), and drawbar gives none to a turn; the first: %s (%s) %s", len(list), list[0].ID, list[0].Priority,
		strings.Join(strings.Fields(list[0].Charter), " "))
}
