package batch

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/internal/base/exactjson"
	"github.com/drawbar/drawbar/internal/cli"
	"github.com/drawbar/drawbar/internal/cli/batch/queue"
	"github.com/drawbar/drawbar/internal/settings/config"
)

const (
	maxFile  = 1 << 30
	maxTold  = 20 // faults of a file that are listed
	hashSize = 16 // digits
)

// line is a line of the file besides the options of a run.
type line struct {
	id, prompt, system string
	fallback           []string
	options            config.Options
}

// work is what an item runs.
type work struct {
	request  execution.Request
	fallback []string // agents
}

// reader makes requests of lines.
type reader struct {
	app    *cli.App
	cmd    *cobra.Command
	flags  *cli.RequestFlags
	agent  string // of items that name none, empty for none
	system string // of items that have none
	dir    string
	known  map[string]execution.RunOptions // by what they come from
}

// read reads a file. Its error lists every line that cannot be run, and nothing is run then.
func (r *reader) read(path string) ([]queue.Item, error) {
	text, err := cli.ReadFlag("FILE", path, maxFile)
	if err != nil {
		return nil, err
	}
	var items []queue.Item
	var faults []string
	prompted := false
	seen := map[string]int{}
	n := 0
	for part := range bytes.Lines(text) {
		n++
		part = bytes.TrimSpace(part)
		if len(part) == 0 {
			continue
		}
		item, err := r.item(n, part)
		if err == nil && seen[item.ID] > 0 {
			err = fmt.Errorf("the id %s is that of line %d too", item.ID, seen[item.ID])
		}
		if err != nil {
			faults = append(faults, fmt.Sprintf("%s:%d: %v", path, n, err))
			continue
		}
		seen[item.ID] = n
		prompted = prompted || item.Work.(work).request.Instructions.SystemPrompt != "" //nolint:forcetypeassert // item made it
		items = append(items, item)
	}
	switch {
	case len(faults) > maxTold:
		faults = append(faults[:maxTold], fmt.Sprintf("and %d more", len(faults)-maxTold))
	case len(faults) == 0 && len(items) == 0:
		faults = []string{path + " has no items"}
	}
	if len(faults) > 0 {
		return nil, cli.Usage("%s", strings.Join(faults, "\n")).WithHint(`a line such as {"id":"1","prompt":"what to do"}`)
	}
	if !prompted && r.cmd.Flags().Changed("system-mode") {
		return nil, cli.NoSystemPrompt()
	}
	return items, nil
}

func (r *reader) item(n int, text []byte) (queue.Item, error) {
	l, err := parse(text)
	if err != nil {
		return queue.Item{}, err
	}
	if l.id == "" {
		l.id = fmt.Sprint(n)
	}
	name := r.agent
	if stated, is := l.options["agent"]; is {
		if err := json.Unmarshal(stated, &name); err != nil {
			return queue.Item{}, errors.New("agent is not a text")
		}
	}
	if name == "" {
		return queue.Item{}, errors.New("it names no agent, and neither does the command line")
	}
	agent, err := r.app.Agent(name)
	if err != nil {
		return queue.Item{}, err
	}
	l.options["agent"], _ = json.Marshal(agent.Descriptor.Name) // a text always encodes
	dir := r.dir
	if stated, is := l.options["cwd"]; is {
		var below string
		if err := json.Unmarshal(stated, &below); err != nil {
			return queue.Item{}, errors.New("cwd is not a text")
		}
		if dir = below; !filepath.IsAbs(dir) {
			dir = filepath.Join(r.dir, below)
		}
	}
	l.system = cmp.Or(l.system, r.system)
	req := execution.Request{Message: execution.Message{Text: execution.Prompt(l.prompt)}, Instructions: execution.Instructions{SystemPrompt: l.system}}
	if req.Run, err = r.options(dir, agent.Descriptor.Name, l.options); err != nil {
		return queue.Item{}, err
	}
	if l.system != "" && req.Run.SystemPromptMode == "" {
		req.Run.SystemPromptMode = execution.SystemPromptAppend
	}
	req.Run.NonInteractive = true
	req.Run.Tags = append(slices.Clip(req.Run.Tags), "batch")
	w := work{req, l.fallback}
	if w.fallback == nil {
		w.fallback = r.flags.Fallback
	}
	if err := r.app.Possible(req, w.fallback...); err != nil {
		return queue.Item{}, err
	}
	sum := sha256.Sum256(text)
	return queue.Item{ID: l.id, Hash: hex.EncodeToString(sum[:])[:hashSize], Agent: agent.Descriptor.Name, Alone: !agent.Capabilities().Agent.ParallelExecution, Work: w}, nil
}

// options returns the options of a run, which most items share.
func (r *reader) options(dir, agent string, stated config.Options) (execution.RunOptions, error) {
	text, err := json.Marshal(stated) // sorted by name
	if err != nil {
		return execution.RunOptions{}, err
	}
	key := dir + "\x00" + string(text)
	if o, is := r.known[key]; is {
		return o, nil
	}
	o, err := r.flags.RunIn(r.app, r.cmd, dir, agent, stated)
	if err == nil {
		r.known[key] = o
	}
	return o, err
}

// parse reads a line: id, prompt, systemPrompt, fallback and the options of a run by their names in JSON.
func parse(text []byte) (line, error) {
	l := line{options: config.Options{}}
	if err := exactjson.Keys(text); err != nil {
		return l, err
	}
	if err := json.Unmarshal(text, &l.options); err != nil || l.options == nil {
		return l, errors.New("it is not an object")
	}
	for name, into := range map[string]*string{"id": &l.id, "prompt": &l.prompt, "systemPrompt": &l.system} {
		raw, is := l.options[name]
		if !is {
			continue
		}
		if err := json.Unmarshal(raw, into); err != nil {
			return l, fmt.Errorf("%s is not a text", name)
		}
		delete(l.options, name)
	}
	if raw, is := l.options["fallback"]; is {
		if err := json.Unmarshal(raw, &l.fallback); err != nil || l.fallback == nil {
			return l, errors.New("fallback is not a list of agents")
		}
		delete(l.options, "fallback")
	}
	if strings.TrimSpace(l.prompt) == "" {
		return l, errors.New("it has no prompt")
	}
	for _, name := range []string{"runId", "interactive", "nonInteractive", "profile"} {
		if _, is := l.options[name]; is {
			return l, fmt.Errorf("%s is not for an item to state", name)
		}
	}
	return l, nil
}
