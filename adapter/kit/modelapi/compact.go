package modelapi

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/drawbar/drawbar/execution"
)

const (
	// fullAt is the share of the window, in percent, at which a conversation is summarized: the answer and the next results need room.
	fullAt = 75
	// prunedAt bounds the results that a conversation keeps when it did not fit.
	prunedAt = 2000
)

const summarize = `The conversation is too long to go on. Do not use tools now. Write a summary for yourself that replaces it:
- what the person asked for, word by word where it matters
- what was done and found out, with the files and names
- what the last results say
- what is left to do, and the next step`

// makeRoom summarizes the conversation if the last call used most of the window. A summary that fails changes nothing: the service says
// when the conversation does not fit.
func (r *run) makeRoom(ctx context.Context) {
	window := r.agent.Window
	if window <= 0 || r.used*100 < window*fullAt {
		return
	}
	r.emit(execution.ContextLimitWarning{UsedTokens: r.used, MaxTokens: window, PctUsed: float64(r.used) / float64(window) * 100})
	r.compact(ctx)
}

// fits reports whether the last call failed for another reason than the size of the conversation, or whether it stays too large.
// Otherwise the conversation was shortened, and the call can be repeated.
func (r *run) fits(ctx context.Context, reply *Reply, f *failure) bool {
	full := f != nil && f.Code == execution.CodeContextExceeded || f == nil && reply.Stop == StopContext && len(reply.toolCalls()) == 0
	if !full || r.agent.Name == "" || r.shortened {
		r.shortened = full && r.shortened
		return true
	}
	r.shortened = true // once: a summary that does not fit either ends the turn
	r.prune()
	return !r.compact(ctx)
}

// prune shortens the results of tools.
func (r *run) prune() {
	r.dropImages("the conversation became too long")
	for i, m := range r.call.Messages {
		parts := slices.Clone(m.Parts)
		for j, p := range parts {
			if p.Kind == Result && len(p.Text) > prunedAt {
				parts[j].Text = cut(p.Text, prunedAt) + fmt.Sprintf("\n[%d more bytes were removed]", len(p.Text)-prunedAt)
			}
		}
		r.call.Messages[i].Parts = parts
	}
}

// compact replaces the conversation by the first request, a summary of what followed, and the last request.
func (r *run) compact(ctx context.Context) bool {
	whole := r.call.Messages
	asking := slices.Clone(whole)
	asking.Say(false, Part{Kind: Text, Text: summarize})
	schema := r.call.Run.OutputSchema
	r.call.Messages, r.call.Run.OutputSchema = asking, nil
	reply, f := r.callModel(ctx, true)
	r.call.Messages, r.call.Run.OutputSchema = whole, schema
	if f != nil || strings.TrimSpace(reply.text()) == "" {
		return false
	}
	summary := strings.TrimSpace(reply.text())
	short := Conversation{}
	short.Say(false, request(whole[0])...)
	short.Say(false, Part{Kind: Text, Text: "What followed was summarized:\n\n" + summary})
	if last := whole[len(whole)-1]; len(whole) > 1 && !last.Model {
		short.Say(false, request(last)...)
	}
	before := r.used
	r.save("")
	r.call.Messages, r.used = short, 0
	if r.log != nil {
		r.log.anew = true
		r.save("")
	}
	r.emit(execution.ContextCompacted{Summary: summary, TokensSaved: max(0, before-reply.Usage.Output)})
	return true
}

// request returns what a person said in a message.
func request(m Message) (parts []Part) {
	for _, p := range m.Parts {
		if p.Kind == Text || p.Kind == Image || p.Kind == Document {
			parts = append(parts, p)
		}
	}
	return parts
}
