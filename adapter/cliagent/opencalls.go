package cliagent

// openCalls is the set of tool calls that are ready and have no result yet. Mostly there is one at a time, which takes no
// map.
type openCalls struct {
	one    string
	hasOne bool
	others map[string]struct{} // never holds one
}

func (c *openCalls) add(id string) {
	if c.hasOne && c.one == id {
		return
	}
	if _, known := c.others[id]; known {
		return
	}
	if !c.hasOne {
		c.one, c.hasOne = id, true
		return
	}
	if c.others == nil {
		c.others = map[string]struct{}{}
	}
	c.others[id] = struct{}{}
}

func (c *openCalls) remove(id string) {
	if c.hasOne && c.one == id {
		c.one, c.hasOne = "", false
		return
	}
	delete(c.others, id)
}

func (c *openCalls) len() int {
	if c.hasOne {
		return len(c.others) + 1
	}
	return len(c.others)
}

func (c *openCalls) clear() { *c = openCalls{} }
