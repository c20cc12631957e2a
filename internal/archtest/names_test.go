package archtest

import (
	"os"
	"path"
	"strings"
	"testing"
	"testing/fstest"
)

// mayName are the files outside an agent's room that may have its name, with the reason.
var mayName = map[string]string{
	"internal/modelserver/":                    "the model APIs of vendors, and which program asks",
	"internal/governed/project/scaffold.go":    "the command that the protocol's own template begins with",
	"govern/protocol/words.go":                 "a word of the protocol",
	"internal/governed/governance/dispatch.go": "words of the protocol",
	"adapter/adaptertest/play.go":              "names of agents that are not asked for",
	"internal/cli/demo/":                       "the agent of the demonstration speaks as a real one does",
	"adapter/kit/vendormodel/":                 "names of vendors' models, which agents are named after",
	"adapter/kit/declared/unasked.go":          "what several programs read of one agent's files",
	"adapter/kit/declared/providers.go":        "the keys of model APIs",
	"internal/governed/governance/charter/":    "providers of models, as the protocol names them",
	"internal/governed/chatapi/":               "providers of models, as the protocol names them",
	"execution/model.go":                       "prefixes of models' ids",
	"adapter/script/adapter.go":                "the file of conventions in the contract of adapter scripts",
	"internal/cli/roadmap/plan/packet.go":      "the places of the contract of adapter scripts",
	"internal/cli/conform/stand.go":            "variables that many programs read",
	"adapter/acp/":                             "programs that speak the protocol, and members of their answers",
}

// TestAgentsAreNamedInTheirRooms: what is known of one agent is in its folder.
func TestAgentsAreNamedInTheirRooms(t *testing.T) {
	root := os.DirFS("../..")
	packages, err := Load(root)
	if err != nil {
		t.Fatal(err)
	}
	var agents []string
	for _, p := range packages {
		if p.Path == "adapter/all" {
			for _, imp := range p.Imports {
				if name := path.Base(imp); name != "acp" && name != "command" && name != "script" && name != "agents" { // a protocol, and words
					agents = append(agents, name)
				}
			}
		}
	}
	if len(agents) < 5 {
		t.Fatalf("found the agents %v", agents)
	}
	found, err := Named(root, agents)
	if err != nil {
		t.Fatal(err)
	}
	used := map[string]bool{}
	for file, names := range found {
		if strings.HasPrefix(file, "e2e/") || strings.HasPrefix(file, "bench/") || strings.HasPrefix(file, "tools/") {
			continue
		}
		reason := ""
		for prefix := range mayName {
			if strings.HasPrefix(file, prefix) {
				reason, used[prefix] = mayName[prefix], true
			}
		}
		if reason == "" {
			t.Errorf("%s names an agent: %q", file, names)
		}
	}
	for prefix := range mayName {
		if !used[prefix] {
			t.Errorf("%s may name an agent, and does not", prefix)
		}
	}
}

func TestNamed(t *testing.T) {
	t.Parallel()
	tree := fstest.MapFS{
		"a/a.go":                {Data: []byte("package a\n\nimport _ \"x/bird\"\n\nvar s = \"a bird in words\"\n\nfunc birdSong() {}\n")},
		"b/b.go":                {Data: []byte("package b\n\nconst c = \"Bird_x\"\n\ntype t struct{}\n")},
		"b/b_test.go":           {Data: []byte("package b\n\nvar bird = 1\n")},
		"adapter/bird/bird.go":  {Data: []byte("package bird\n\nvar bird = \"bird\"\n")},
		"adapter/other/o.go":    {Data: []byte("package other\n\nvar aBird int\n")},
		"d/d.go":                {Data: []byte("package d\n\nvar owlPath, theOwl, OWL, bowl, owlet, weirdo int\n")},
		"c/testdata/bird/bi.go": {Data: []byte("package bird\n\nvar bird int\n")},
	}
	found, err := Named(tree, []string{"bird", "owl"})
	if err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(found["d/d.go"], " "); got != "owlPath theOwl OWL" {
		t.Errorf("got %s", got)
	}
	if len(found) != 4 || found["a/a.go"][0] != "birdSong" || found["b/b.go"][0] != "Bird_x" || found["adapter/other/o.go"][0] != "aBird" {
		t.Errorf("got %v", found)
	}
}
