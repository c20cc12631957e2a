package product

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"

	"github.com/drawbar/drawbar/govern/protocol"
	"github.com/drawbar/drawbar/internal/governed/conformance"
	"github.com/drawbar/drawbar/internal/governed/governance/charter"
)

// world is the project of one fixture.
type world struct {
	fixture conformance.Fixture
	setup   setup
	dir     string
	files   *os.Root
	config  *protocol.Config
	raw     []byte // agentxchain.json
	state   protocol.State
	before  []byte // state.json
}

// setup is the initial situation of a fixture.
type setup struct {
	Config     json.RawMessage                     `json:"config"`
	State      json.RawMessage                     `json:"state"`
	TurnResult json.RawMessage                     `json:"turn_result"`
	History    []json.RawMessage                   `json:"history"`
	Ledger     []json.RawMessage                   `json:"ledger"`
	Filesystem protocol.Ordered[string]            `json:"filesystem"`
	Bundles    map[string]protocol.Ordered[string] `json:"dispatch_bundle"`
	Inject     map[string]protocol.Ordered[string] `json:"post_finalize_inject"`
	Tamper     map[string]protocol.Ordered[string] `json:"post_finalize_tamper"`
	Delete     map[string][]string                 `json:"post_finalize_delete"`
	Unmanifest json.RawMessage                     `json:"post_finalize_delete_manifest"` // true, or true by turn
	Corrupt    map[string]json.RawMessage          `json:"post_finalize_corrupt_manifest"`
}

// newWorld creates the project of a fixture in its own folder.
func newWorld(f conformance.Fixture) (w *world, err error) {
	w = &world{fixture: f}
	if err := json.Unmarshal(f.Setup, &w.setup); err != nil {
		return nil, fmt.Errorf("setup: %w", err)
	}
	if w.raw, err = inflateConfig(w.setup.Config); err != nil {
		return nil, fmt.Errorf("setup.config: %w", err)
	}
	// The operation reports its faults; the rest can be read.
	if w.config, _ = charter.Decode(w.raw); w.config == nil {
		return nil, errors.New("setup.config is not an object")
	}
	if w.state, err = inflateState(w.setup.State, w.config); err != nil {
		return nil, fmt.Errorf("setup.state: %w", err)
	}
	if w.dir, err = os.MkdirTemp("", "drawbar-conformance-*"); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, w.close())
		}
	}()
	if w.files, err = os.OpenRoot(w.dir); err != nil {
		return nil, err
	}
	return w, w.materialize()
}

// close removes the project.
func (w *world) close() error {
	var err error
	if w.files != nil {
		err = w.files.Close()
	}
	return errors.Join(err, os.RemoveAll(w.dir))
}

func (w *world) materialize() error {
	state, err := protocol.MarshalFile(w.state)
	if err != nil {
		return err
	}
	w.before = state
	put := func(name string, data []byte) {
		if err == nil {
			err = w.write(name, data)
		}
	}
	put(protocol.ConfigFile, w.raw)
	put(protocol.StateFile, state)
	put(protocol.HistoryFile, lines(w.setup.History))
	put(protocol.LedgerFile, lines(w.setup.Ledger))
	if result := w.result(); result != nil {
		name := protocol.StagingDir + "/turn-result.json"
		if t := w.turn(); t != nil {
			name = protocol.StagedFile(t.TurnID)
		}
		put(name, result)
	}
	for name, content := range w.setup.Filesystem.All() {
		put(name, []byte(content))
	}
	for turn, bundle := range w.setup.Bundles {
		for name, content := range bundle.All() {
			put(path.Join(protocol.BundleDir(turn), name), []byte(content))
		}
	}
	return err
}

// write writes a file of the project; a name that leads out of it is refused.
func (w *world) write(name string, data []byte) error {
	name = filepath.FromSlash(name)
	if dir := filepath.Dir(name); dir != "." {
		if err := w.files.MkdirAll(dir, 0o755); err != nil {
			return err
		}
	}
	return w.files.WriteFile(name, data, 0o644)
}

// result is the turn result that the fixture stages, if any: the setup's, else the operation's.
func (w *world) result() json.RawMessage {
	if protocol.Is(w.setup.TurnResult) {
		return w.setup.TurnResult
	}
	var args struct {
		TurnResult json.RawMessage `json:"turn_result"`
	}
	if w.args(&args) == nil && protocol.Is(args.TurnResult) {
		return args.TurnResult
	}
	return nil
}

// args decodes the operation's arguments.
func (w *world) args(v any) error {
	if !protocol.Is(w.fixture.Input.Args) {
		return nil
	}
	if err := json.Unmarshal(w.fixture.Input.Args, v); err != nil {
		return fmt.Errorf("input.args: %w", err)
	}
	return nil
}

// unchanged reports whether state.json is as in the setup.
func (w *world) unchanged() (bool, error) {
	now, err := w.files.ReadFile(filepath.FromSlash(protocol.StateFile))
	return bytes.Equal(now, w.before), err
}

// lines joins the lines of a .jsonl file.
func lines(list []json.RawMessage) []byte {
	var b bytes.Buffer
	for _, l := range list {
		_ = json.Compact(&b, l) // a raw message that was decoded is valid
		b.WriteByte('\n')
	}
	return b.Bytes()
}
