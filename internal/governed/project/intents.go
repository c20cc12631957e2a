package project

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/govern/protocol"
	"github.com/drawbar/drawbar/internal/base/lazy"
	"github.com/drawbar/drawbar/internal/base/repofile"
	"github.com/drawbar/drawbar/internal/governed/governance/intent"
)

const (
	mostIntents = 2000
	intakeSize  = 1 << 20 // of one file
)

var intakeID = lazy.Regexp(`^(intent|evt)_[0-9a-z_]{1,60}$`)

// Intents returns the intents of a project, the next one first. Unreadable ones are skipped.
func Intents(root string) []protocol.Intent {
	list := readIntake[protocol.Intent](root, path.Dir(protocol.IntentFile("x")), func(i protocol.Intent) string { return i.IntentID })
	intent.Sort(list)
	return list
}

// IntakeEvents returns the events that intents come from, unordered.
func IntakeEvents(root string) []protocol.IntakeEvent {
	return readIntake[protocol.IntakeEvent](root, path.Dir(protocol.IntakeEventFile("x")), func(e protocol.IntakeEvent) string { return e.EventID })
}

// readIntake reads a folder's files, each named for its id.
func readIntake[T any](root, folder string, id func(T) string) []T {
	r, err := os.OpenRoot(root)
	if err != nil {
		return nil
	}
	defer func() { _ = r.Close() }() // read-only
	dir, err := r.Open(filepath.FromSlash(folder))
	if err != nil {
		return nil
	}
	defer func() { _ = dir.Close() }()
	names, _ := dir.Readdirnames(mostIntents)
	var list []T
	for _, name := range names {
		var v T
		if b, err := repofile.Read(root, folder+"/"+name, intakeSize); err == nil && json.Unmarshal(b, &v) == nil && id(v)+".json" == name {
			list = append(list, v)
		}
	}
	return list
}

// Intent reads one intent.
func Intent(root, id string) (protocol.Intent, error) {
	var i protocol.Intent
	err := readOne(root, id, protocol.IntentFile(id), &i)
	if err == nil && i.IntentID != id {
		err = execution.Errorf(execution.CodeConfig, "%s contains a different intent: %q", protocol.IntentFile(id), i.IntentID)
	}
	return i, err
}

// IntakeEvent reads one event.
func IntakeEvent(root, id string) (protocol.IntakeEvent, error) {
	var e protocol.IntakeEvent
	err := readOne(root, id, protocol.IntakeEventFile(id), &e)
	return e, err
}

func readOne(root, id, file string, v any) error {
	if !intakeID().MatchString(id) {
		return execution.Errorf(execution.CodeValidation, "%q is not a valid id of an intent or event", id).WithHint("drawbar govern intake status")
	}
	b, err := repofile.Read(root, file, intakeSize)
	if errors.Is(err, fs.ErrNotExist) {
		return execution.Errorf(execution.CodeSessionNotFound, "there is no %s", file).WithHint("drawbar govern intake status")
	}
	if err == nil {
		err = json.Unmarshal(b, v)
	}
	if err != nil {
		return execution.Errorf(execution.CodeConfig, "read %s: %w", file, err)
	}
	return nil
}

// Preempting returns the injected intent that precedes everything else; empty if there is none.
func Preempting(root string) string {
	var marker struct {
		IntentID string `json:"intent_id"`
	}
	b, err := repofile.Read(root, protocol.PreemptionFile, intakeSize)
	if err != nil || json.Unmarshal(b, &marker) != nil {
		return ""
	}
	return marker.IntentID
}

// newIntakeID returns a new id of an event (evt) or an intent (intent).
func newIntakeID(kind string, now protocol.Time) string {
	var b [2]byte
	_, _ = rand.Read(b[:]) // never fails: crypto/rand ends the program instead
	return fmt.Sprintf("%s_%d_%s", kind, now.UnixMilli(), hex.EncodeToString(b[:]))
}

// DedupKey identifies equal signals of a source. The signal's keys are sorted, and nested objects keep only
// keys that the signal itself has, as in the original program.
func DedupKey(source string, signal json.RawMessage) (string, error) {
	var top protocol.Ordered[any]
	if err := json.Unmarshal(signal, &top); err != nil {
		return "", err
	}
	keys := top.Keys()
	slices.Sort(keys)
	var whole any
	if err := json.Unmarshal(signal, &whole); err != nil {
		return "", err
	}
	text, err := stringify(whole, keys)
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256([]byte(text))
	return source + ":" + hex.EncodeToString(sum[:])[:16], nil
}

func stringify(v any, keys []string) (string, error) {
	var parts []string
	switch v := v.(type) {
	case map[string]any:
		for _, k := range keys {
			if child, ok := v[k]; ok {
				name, err := protocol.Marshal(k)
				if err != nil {
					return "", err
				}
				text, err := stringify(child, keys)
				if err != nil {
					return "", err
				}
				parts = append(parts, string(name)+":"+text)
			}
		}
		return "{" + strings.Join(parts, ",") + "}", nil
	case []any:
		for _, child := range v {
			text, err := stringify(child, keys)
			if err != nil {
				return "", err
			}
			parts = append(parts, text)
		}
		return "[" + strings.Join(parts, ",") + "]", nil
	}
	b, err := protocol.Marshal(v)
	return string(b), err
}

// Signal records an event and its intent. An existing event is returned unchanged, with its intent.
func Signal(root string, e protocol.IntakeEvent, now protocol.Time) (protocol.IntakeEvent, protocol.Intent, bool, error) {
	key, err := DedupKey(e.Source, e.Signal)
	if err != nil {
		return e, protocol.Intent{}, false, execution.Errorf(execution.CodeValidation, "the signal is not an object: %w", err)
	}
	for _, old := range IntakeEvents(root) {
		if old.DedupKey != key {
			continue
		}
		for _, i := range Intents(root) {
			if i.EventID == old.EventID {
				return old, i, true, nil
			}
		}
		return old, protocol.Intent{}, true, nil
	}
	e.SchemaVersion, e.EventID, e.CreatedAt, e.DedupKey = "1.0", newIntakeID("evt", now), now, key
	i := intent.New(newIntakeID("intent", now), e.EventID, now)
	event, err := protocol.MarshalFile(e)
	if err != nil {
		return e, i, false, err
	}
	if err := WriteFiles(root, map[string][]byte{protocol.IntakeEventFile(e.EventID): event}); err != nil {
		return e, i, false, err
	}
	return e, i, false, WriteIntent(root, i)
}

// WriteIntent writes an intent atomically.
func WriteIntent(root string, i protocol.Intent) error {
	b, err := protocol.MarshalFile(i)
	if err != nil {
		return err
	}
	files := map[string][]byte{protocol.IntentFile(i.IntentID): b}
	if !intent.Waits(i) && Preempting(root) == i.IntentID {
		files[protocol.PreemptionFile] = nil
	}
	return WriteFiles(root, files)
}

// PlanFiles writes the planning files of an intent's template, unless one of them exists, and returns their
// paths.
func PlanFiles(root, template string, c *protocol.Config) ([]string, error) {
	i := slices.IndexFunc(templates, func(t Template) bool { return t.ID == template })
	if i < 0 {
		return nil, execution.Errorf(execution.CodeValidation, "there is no template %q", template).WithHint("one of %s", strings.Join(templateIDs(), ", "))
	}
	files, made, there := map[string][]byte{}, []string{}, []string{}
	for name, text := range templates[i].planningFiles(c.Project.Name) {
		if _, err := os.Lstat(filepath.Join(root, filepath.FromSlash(name))); err == nil {
			there = append(there, name)
		}
		files[name], made = []byte(text), append(made, name)
	}
	slices.Sort(made)
	if slices.Sort(there); len(there) > 0 {
		return nil, execution.Errorf(execution.CodeConfig, "these planning files already exist: %s", strings.Join(there, ", ")).
			WithHint("nothing was written; to give the intent to a turn without planning files: drawbar govern step")
	}
	return made, WriteFiles(root, files)
}

// Waiting returns a line about pending intents; empty if there are none.
func Waiting(list []protocol.Intent) string {
	n := 0
	for _, i := range list {
		if intent.Waits(i) {
			n++
		}
	}
	first := intent.Next(list, "", "", "")
	if first == nil {
		return ""
	}
	return fmt.Sprintf("intents wait for a turn (%d); the first: %s (%s) %s", n, first.IntentID, intent.Priority(*first), strings.Join(strings.Fields(intent.Text(*first)), " "))
}
