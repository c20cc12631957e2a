package usage

import (
	"cmp"
	"maps"
	"slices"

	"github.com/drawbar/drawbar/adapter/kit/usagescan"
	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/history"
)

// merge derives the calls from all of an agent's files: each once, with the agent's price if it states one. It
// reorders its input.
func merge(all []call, names *table, price func(model int32) *execution.Price) []call {
	families(all, names)
	var statements []call
	all = slices.DeleteFunc(all, func(c call) bool {
		if c.is(statement) {
			statements = append(statements, c)
		}
		return c.is(statement)
	})
	if len(statements) > 0 {
		all = append(all, distribute(all, statements, names, price)...)
	}
	return once(all)
}

// families makes keys that are unique only within a session and its forks globally unique.
func families(all []call, names *table) {
	parent := map[int32]int32{}
	any := false
	for i := range all {
		if c := &all[i]; c.is(inFamily) {
			any = true
			if c.fork != 0 && c.fork != c.session {
				parent[c.session] = c.fork
			}
		}
	}
	if !any {
		return
	}
	roots := map[int32]int32{}
	for i := range all {
		c := &all[i]
		if !c.is(inFamily) {
			continue
		}
		root, ok := roots[c.session]
		if !ok {
			root = c.session
			for range 1000 { // stops at sessions that claim to be forks of each other
				p, ok := parent[root]
				if !ok {
					break
				}
				root = p
			}
			roots[c.session] = root
		}
		c.key = new(usagescan.Hash).Bytes(c.key[:]).Text(names.names[root]).Key()
		c.flags &^= inFamily
	}
}

// once removes copies.
func once(all []call) []call {
	// What a sub-agent's file repeats of another conversation has that one's twin under a key of its own. A twin's own copies
	// may be in other sessions, and another of them be kept: all count.
	mains := map[uint64]bool{}
	subs := false
	for i := range all {
		if c := &all[i]; c.is(subAgent) {
			subs = subs || c.twin != 0
		}
	}
	if subs {
		for i := range all {
			if c := &all[i]; c.twin != 0 && !c.is(subAgent) {
				mains[c.twin] = true
			}
		}
	}
	index := make(map[history.UsageKey]int, len(all))
	kept := all[:0]
	for _, c := range all {
		if c.key != (history.UsageKey{}) {
			if i, ok := index[c.key]; ok {
				if better(&c, &kept[i]) < 0 {
					kept[i] = c
				}
				continue
			}
			index[c.key] = len(kept)
		}
		kept = append(kept, c)
	}
	if !subs {
		return kept
	}
	best := map[uint64]*call{}
	for i := range kept {
		if c := &kept[i]; c.twin != 0 && c.is(subAgent) && (best[c.twin] == nil || better(c, best[c.twin]) < 0) {
			best[c.twin] = c
		}
	}
	chosen := make([]bool, len(kept))
	for i := range kept {
		c := &kept[i]
		chosen[i] = c.twin == 0 || !c.is(subAgent) || !mains[c.twin] && best[c.twin] == c
	}
	out := kept[:0]
	for i, c := range kept {
		if chosen[i] {
			out = append(out, c)
		}
	}
	return out
}

// distribute distributes the stated sums among the calls of their sessions, and returns what an agent states for
// calls that no file contains. A sum smaller than the prices of its calls does not cover them: they keep their
// own prices.
func distribute(all, statements []call, names *table, price func(int32) *execution.Price) (rest []call) {
	type part struct{ session, model int32 }
	models := map[int32]int32{} // by name in the calls and statements
	plain := func(model int32) int32 {
		m, ok := models[model]
		if !ok {
			m = names.of(execution.BareModel(names.names[model]))
			models[model] = m
		}
		return m
	}
	sums := map[part][]call{}
	bySession := map[int32][]int{}
	for _, s := range statements {
		p := part{s.session, plain(s.model)}
		sums[p] = append(sums[p], s)
		bySession[s.session] = nil
	}
	for i := range all {
		if _, ok := bySession[all[i].session]; ok {
			bySession[all[i].session] = append(bySession[all[i].session], i)
		}
	}
	order := slices.SortedFunc(maps.Keys(sums), func(a, b part) int { return cmp.Or(cmp.Compare(a.session, b.session), cmp.Compare(a.model, b.model)) })
	for _, p := range order {
		// Copies within the session count once, by the one that counts in the end, and every copy is given the price.
		copies := map[history.UsageKey][]int{}
		at := map[history.UsageKey]int{}
		var mine []int
		for _, i := range bySession[p.session] {
			c := &all[i]
			if plain(c.model) != p.model {
				continue
			}
			if c.key != (history.UsageKey{}) {
				copies[c.key] = append(copies[c.key], i)
				if n, ok := at[c.key]; ok {
					if better(c, &all[mine[n]]) < 0 {
						mine[n] = i
					}
					continue
				}
				at[c.key] = len(mine)
			}
			mine = append(mine, i)
		}
		slices.SortStableFunc(mine, func(a, b int) int { return cmp.Compare(all[a].time, all[b].time) })
		mains := make([]int64, 0, len(bySession[p.session]))
		for _, i := range bySession[p.session] {
			if !all[i].is(subAgent) {
				mains = append(mains, all[i].time)
			}
		}
		slices.Sort(mains)
		for _, sum := range sums[p] {
			// Sub-agents may end after the conversation's last line; what they do before its next one is in the sum.
			until := sum.time
			if i, _ := slices.BinarySearch(mains, sum.time+1); i < len(mains) {
				until = mains[i] - 1
			} else {
				until = max(until, 1<<62)
			}
			n := 0
			for n < len(mine) && all[mine[n]].time <= until {
				n++
			}
			window := mine[:n]
			mine = mine[n:]
			// A fork's statement may be of its own calls alone, or of what it repeats too.
			if total(all, window) > sum.tokens() {
				window = slices.DeleteFunc(slices.Clone(window), func(i int) bool { return all[i].is(copied) })
				n = len(window)
			}
			if n == 0 {
				if sum.cost > 0 {
					sum.flags = stated | costOnly
					sum.input, sum.output, sum.thinking, sum.read, sum.write, sum.write1h = 0, 0, 0, 0, 0, 0
					sum.key = new(usagescan.Hash).Text("sum").Text(names.names[p.session]).Text(names.names[p.model]).Int(sum.time).Key()
					rest = append(rest, sum)
				}
				continue
			}
			share(all, window, copies, sum, price)
		}
	}
	return rest
}

func total(all []call, window []int) (tokens int64) {
	for _, i := range window {
		tokens += all[i].tokens()
	}
	return tokens
}

// share divides a stated sum among calls, by their table prices if all have one, else by their tokens.
func share(all []call, window []int, copies map[history.UsageKey][]int, sum call, price func(int32) *execution.Price) {
	var weight float64
	weights := make([]float64, len(window))
	priced := true
	for n, i := range window {
		c := &all[i]
		if c.is(stated) {
			return // these lines state their own
		}
		usd, ok := estimate(price(c.model), c)
		priced = priced && ok
		weights[n] = usd
		weight += usd
	}
	if total(all, window) > sum.tokens() {
		return
	}
	if !priced || weight == 0 {
		weight = 0
		for n, i := range window {
			weights[n] = float64(all[i].tokens())
			weight += weights[n]
		}
	}
	if weight == 0 {
		return
	}
	for n, i := range window {
		set := func(i int) {
			all[i].cost = sum.cost * weights[n] / weight
			all[i].flags |= stated
		}
		set(i)
		if k := all[i].key; k != (history.UsageKey{}) {
			for _, j := range copies[k] {
				set(j)
			}
		}
	}
}
