package prompt

import (
	"cmp"
	"slices"
	"strings"

	"github.com/drawbar/drawbar/govern/protocol"
)

// Coordinator returns what the turn is told of the other repositories; nil outside a run over several.
func Coordinator(in Input) *protocol.CoordinatorContext {
	var c protocol.CoordinatorContext
	if !read(in.turn().Coordinator, &c) {
		return nil
	}
	return &c
}

// CoordinatorText returns COORDINATOR_CONTEXT.md.
func CoordinatorText(c protocol.CoordinatorContext) string {
	d := &doc{}
	d.para("# Coordinator Context")
	d.linef("- Super Run: %s", inline(c.SuperRunID))
	d.linef("- Workstream: %s", inline(c.WorkstreamID))
	d.linef("- Target Repo: %s", inline(c.TargetRepoID))
	d.linef("- Context Ref: %s", inline(c.ContextRef))
	d.linef("- Generated At: %s", c.GeneratedAt)
	d.gap()
	d.coordinated("##", c)
	return d.b.String()
}

// coordinated writes the lists of a coordinator's context, under headings of that level.
func (d *doc) coordinated(level string, c protocol.CoordinatorContext) {
	list := func(name string, items []string) {
		d.para("%s %s", level, name)
		if len(items) == 0 {
			items = []string{"None"}
		}
		for _, s := range items {
			d.linef("- %s", s)
		}
		d.gap()
	}
	var results, barriers, followups []string
	for _, u := range c.Upstream {
		text := inline(u.RepoID) + " (" + inline(u.WorkstreamID) + "): " + cmp.Or(inline(u.Summary), "no summary")
		if ids := decisionIDs(u.Decisions); len(ids) > 0 {
			text += " Decisions: " + strings.Join(ids, ", ") + "."
		}
		if len(u.FilesChanged) > 0 {
			text += " Files: " + codes(u.FilesChanged[:min(len(u.FilesChanged), 30)]) + "."
		}
		results = append(results, text)
	}
	for _, b := range c.Barriers {
		text := inline(b.BarrierID) + ": " + string(b.Type) + " (" + string(b.Status) + ")"
		if ids := b.RequiredDecisions[c.TargetRepoID]; len(ids) > 0 {
			text += " Required decision IDs for " + inline(c.TargetRepoID) + ": " + inline(strings.Join(ids, ", ")) + "."
		}
		barriers = append(barriers, text)
	}
	for _, f := range c.Followups {
		followups = append(followups, inline(f))
	}
	list("Upstream Acceptances", results)
	list("Active Barriers", barriers)
	list("Required Follow-ups", followups)
	if len(c.Handoffs) == 0 {
		return
	}
	d.para("%s Intake Handoff", level)
	for _, h := range c.Handoffs {
		d.linef("- %s of %s: %s", inline(h.IntentID), inline(h.SourceRepo), cmp.Or(inline(protocol.Deref(h.Charter)), "no charter"))
		for _, item := range h.AcceptanceContract {
			d.linef("  - %s", inline(item))
		}
	}
	d.gap()
}

func decisionIDs(list []protocol.Decision) []string {
	var ids []string
	for _, d := range list {
		if d.ID != "" && !slices.Contains(ids, d.ID) {
			ids = append(ids, inline(d.ID))
		}
	}
	return ids
}

func (in *Input) coordinatorContext(d *doc) {
	c := Coordinator(*in)
	if c == nil {
		return
	}
	d.para("## Coordinator Context")
	d.field("Super run", c.SuperRunID)
	d.field("Workstream", c.WorkstreamID)
	d.field("This repository", c.TargetRepoID)
	d.gap()
	d.coordinated("###", *c)
}

// coordinator tells the turn that it works in one of several repositories.
func (in *Input) coordinator(d *doc) {
	c := Coordinator(*in)
	if c == nil {
		return
	}
	d.para("## One of Several Repositories")
	d.para("This turn is part of a run over several repositories. Change files only in this one (%s); the other repositories have turns of their own. "+
		"CONTEXT.md says under Coordinator Context what they have delivered.", code(c.TargetRepoID))
	for _, b := range c.Barriers {
		if ids := b.RequiredDecisions[c.TargetRepoID]; len(ids) > 0 && b.WorkstreamID == c.WorkstreamID && !c.Preparing {
			d.para("Record these decisions in your result once they hold, each with exactly this id: %s.", codes(ids))
		}
	}
}
