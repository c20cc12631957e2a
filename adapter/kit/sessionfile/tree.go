package sessionfile

import (
	"github.com/drawbar/drawbar/history"
)

// tree holds records that refer to their predecessor, in stores where a conversation can be rewound and branch.
type tree struct {
	nodes []treeNode
	at    map[string]int
	leaf  int // the last record of the conversation, -1 for none
}

type treeNode struct {
	id, parent string
	message    *history.Message // nil for records that are not messages
	prompt     bool
}

// Link adds a record to the tree; message is nil if it is not a message. The last record that may be a leaf ends the
// conversation.
func (c *Conversation) Link(id, parent string, message *history.Message, leaf bool) {
	t := &c.tree
	if t.at == nil {
		t.at, t.leaf = map[string]int{}, -1
	}
	if id == "" {
		return
	}
	t.at[id] = len(t.nodes)
	if leaf {
		t.leaf = len(t.nodes)
	}
	t.nodes = append(t.nodes, treeNode{id: id, parent: parent, message: message, prompt: message != nil && message.Role == history.RoleUser})
}

// prune marks the messages of abandoned branches. The prompt decides for everything after it, because results of
// concurrent tool calls have different parents and do not lie on each other's paths.
func (t *tree) prune() {
	if t.leaf < 0 || len(t.nodes) == 0 {
		return
	}
	active := make([]bool, len(t.nodes))
	i := t.leaf
	for steps := 0; steps <= len(t.nodes); steps++ {
		active[i] = true
		parent := t.nodes[i].parent
		if parent == "" {
			break
		}
		next, ok := t.at[parent]
		if !ok || active[next] {
			// The path is broken: keep what came before.
			for j := range i {
				active[j] = true
			}
			break
		}
		i = next
	}
	// owner[i] is the prompt above node i, -1 for none. Parents may follow their children.
	owner := make([]int, len(t.nodes))
	for i := range owner {
		owner[i] = -2
	}
	for i := range t.nodes {
		var path []int
		at, found := i, -1
		for len(path) <= len(t.nodes) {
			if owner[at] != -2 {
				found = owner[at]
				break
			}
			path = append(path, at)
			if t.nodes[at].prompt {
				found = at
				break
			}
			next, ok := t.at[t.nodes[at].parent]
			if !ok {
				break
			}
			at = next
		}
		for _, p := range path {
			owner[p] = found
		}
	}
	for i, n := range t.nodes {
		if n.message != nil {
			n.message.Inactive = owner[i] >= 0 && !active[owner[i]]
		}
	}
}
