// Package agents registers the built-in agents that are described by data: one JSON file each, named for the agent, as a
// vendor would ship it. They are written from the vendors' documentation.
package agents

import (
	"embed"
	"encoding/json"
	"io/fs"
	"strings"
	"sync"

	"github.com/drawbar/drawbar/adapter"
	"github.com/drawbar/drawbar/adapter/kit/declarative"
)

//go:embed *.json
var files embed.FS

func init() {
	for _, name := range Names() {
		// Entries are read when a client lists its agents, and once only.
		d := sync.OnceValue(func() adapter.Descriptor { return describe(name) })
		adapter.Register(func() adapter.Descriptor { return d().Clone() })
	}
}

// Names returns the names of the agents, sorted.
func Names() (names []string) {
	entries, err := files.ReadDir(".")
	if err != nil {
		panic("read the embedded agents: " + err.Error())
	}
	for _, e := range entries {
		names = append(names, strings.TrimSuffix(e.Name(), ".json"))
	}
	return names
}

// Text returns the entry of an agent; false if there is none.
func Text(name string) ([]byte, bool) {
	data, err := fs.ReadFile(files, name+".json")
	return data, err == nil
}

// describe decodes an entry without checking it, which takes ten times as long: a test checks every file.
func describe(name string) adapter.Descriptor {
	text, _ := Text(name)
	var e declarative.Entry
	if err := json.Unmarshal(text, &e); err != nil {
		panic(name + ".json: " + err.Error())
	}
	return declarative.Describe(name, e)
}
