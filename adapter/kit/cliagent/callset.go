package cliagent

// CallSet is a set of tool calls by id, such as those without a result. A single call, the usual case, needs no map.
// The zero value is empty.
type CallSet struct {
	one    string
	hasOne bool
	others map[string]struct{} // is always empty
}

// Add adds a call and reports whether it is new.
func (c *CallSet) Add(id string) bool {
	if c.hasOne && c.one == id {
		return false
	}
	if _, known := c.others[id]; known {
		return false
	}
	if !c.hasOne {
		c.one, c.hasOne = id, true
		return true
	}
	if c.others == nil {
		c.others = map[string]struct{}{}
	}
	c.others[id] = struct{}{}
	return true
}

// Remove removes a call and reports whether it was present.
func (c *CallSet) Remove(id string) bool {
	if c.hasOne && c.one == id {
		c.one, c.hasOne = "", false
		return true
	}
	_, known := c.others[id]
	delete(c.others, id)
	return known
}

// Len returns the number of calls.
func (c *CallSet) Len() int {
	if c.hasOne {
		return len(c.others) + 1
	}
	return len(c.others)
}

// Clear removes all calls.
func (c *CallSet) Clear() { *c = CallSet{} }
