package cliagent

// CallSet is a set of tool calls by id, such as those that have no result yet. Mostly there is one at a time, which takes no
// map. The zero value is empty.
type CallSet struct {
	one    string
	hasOne bool
	others map[string]struct{} // never holds one
}

// Add puts a call into the set and reports whether it was not there.
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

// Remove takes a call out of the set and reports whether it was there.
func (c *CallSet) Remove(id string) bool {
	if c.hasOne && c.one == id {
		c.one, c.hasOne = "", false
		return true
	}
	_, known := c.others[id]
	delete(c.others, id)
	return known
}

// Len is the number of calls in the set.
func (c *CallSet) Len() int {
	if c.hasOne {
		return len(c.others) + 1
	}
	return len(c.others)
}

// Clear empties the set.
func (c *CallSet) Clear() { *c = CallSet{} }
