package sessionfile

import "github.com/drawbar/drawbar/adapter"

// tree holds records that name the one before them, in stores where a conversation can be rewound and go on elsewhere.
type tree struct {
	nodes []treeNode
	at    map[string]int
	leaf  int // the record that the conversation ends with, -1 for none
}

type treeNode struct {
	id, parent string
	message    *adapter.SessionMessage // nil for records that are no message
	prompt     bool
}

// Link puts a record into the tree: message is nil for one that is none. The last record that may be a leaf is what the
// conversation ends with.
func (c *Conversation) Link(id, parent string, message *adapter.SessionMessage, leaf bool) {
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
	t.nodes = append(t.nodes, treeNode{id: id, parent: parent, message: message, prompt: message != nil && message.Role == adapter.RoleUser})
}

// Leaf names the record that the conversation ends with, where the agent does so.
func (c *Conversation) Leaf(id string) {
	if i, ok := c.tree.at[id]; ok {
		c.tree.leaf = i
	}
}

// prune marks the messages of branches that the conversation left. A prompt decides for what follows it: results of tool
// calls that ran at the same time hang on different records, and none of them is on the way to the others.
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
			// The way back is broken: nothing is known against what came before.
			for j := range i {
				active[j] = true
			}
			break
		}
		i = next
	}
	// owner[i] is the prompt that node i hangs on, -1 for none. Parents may stand behind their children.
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
