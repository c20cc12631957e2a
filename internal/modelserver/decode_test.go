package modelserver

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// The decoders here are written from the public descriptions of the wires and share nothing with the encoders.

type anthropicBlock struct {
	Type, Text, Thinking, Signature, ID, Name string
	Input                                     any
}

type anthropicUsage struct {
	Input, Output, CacheRead, CacheWrite int64
}

func (u *anthropicUsage) from(m map[string]any) {
	for key, field := range map[string]*int64{
		"input_tokens": &u.Input, "output_tokens": &u.Output, "cache_read_input_tokens": &u.CacheRead,
		"cache_creation_input_tokens": &u.CacheWrite,
	} {
		if v, ok := m[key].(float64); ok {
			*field = int64(v)
		}
	}
}

func decodeAnthropicAnswer(t testing.TB, stream bool, body string) decoded {
	t.Helper()
	var d decoded
	if !stream {
		var m struct {
			Model      string
			StopReason string `json:"stop_reason"`
			Content    []anthropicBlock
			Usage      map[string]any
		}
		unmarshal(t, body, &m)
		var u anthropicUsage
		u.from(m.Usage)
		d.Model, d.Stop, d.Input, d.Output, d.CacheRead, d.Ended = m.Model, m.StopReason, u.Input, u.Output, u.CacheRead, true
		d.Thoughts = int64(m.Usage["output_tokens_details"].(map[string]any)["thinking_tokens"].(float64))
		for _, b := range m.Content {
			d.Text += b.Text
			d.Thinking += b.Thinking
			if b.Type == "thinking" && b.Signature == "" {
				t.Error("thinking without signature")
			}
			if b.Type == "tool_use" {
				d.Tools = append(d.Tools, call{Name: b.Name, Input: string(marshal(b.Input))})
			}
		}
		return d
	}
	names, data := sse(t, body)
	open, signed := -1, false
	var u anthropicUsage
	var partial strings.Builder
	for i, text := range data {
		var e struct {
			Type    string
			Index   int
			Message struct {
				ID, Model string
				Usage     map[string]any
			}
			ContentBlock anthropicBlock `json:"content_block"`
			Delta        struct {
				Type, Text, Thinking, Signature string
				PartialJSON                     *string `json:"partial_json"`
				StopReason                      string  `json:"stop_reason"`
			}
			Usage map[string]any
		}
		unmarshal(t, text, &e)
		if e.Type != names[i] {
			t.Errorf("event %q carries type %q", names[i], e.Type)
		}
		d.Events = append(d.Events, e.Type)
		switch e.Type {
		case "message_start":
			d.Model = e.Message.Model
			u.from(e.Message.Usage)
		case "content_block_start":
			if open >= 0 {
				t.Errorf("block %d begins inside block %d", e.Index, open)
			}
			open = e.Index
			partial.Reset()
			if e.ContentBlock.Type == "tool_use" {
				d.Tools = append(d.Tools, call{Name: e.ContentBlock.Name})
			}
			signed = e.ContentBlock.Type != "thinking"
		case "content_block_delta":
			if e.Index != open {
				t.Errorf("delta of block %d inside block %d", e.Index, open)
			}
			d.Text += e.Delta.Text
			if e.Delta.Type == "text_delta" {
				d.Pieces = append(d.Pieces, e.Delta.Text)
			}
			d.Thinking += e.Delta.Thinking
			signed = signed || e.Delta.Signature != ""
			if e.Delta.PartialJSON != nil {
				partial.WriteString(*e.Delta.PartialJSON)
			}
		case "content_block_stop":
			if e.Index != open {
				t.Errorf("block %d ends inside block %d", e.Index, open)
			}
			if !signed {
				t.Error("thinking without signature")
			}
			if partial.Len() > 0 {
				d.Tools[len(d.Tools)-1].Input = partial.String()
			}
			open = -1
		case "message_delta":
			d.Stop = e.Delta.StopReason
			u.from(e.Usage)
			d.Thoughts = int64(e.Usage["output_tokens_details"].(map[string]any)["thinking_tokens"].(float64))
		case "message_stop":
			d.Ended = open == -1 && i == len(data)-1
		}
	}
	d.Input, d.Output, d.CacheRead = u.Input, u.Output, u.CacheRead
	return d
}

type responsesItem struct {
	Type, ID, Name, Namespace, Arguments, Input, Status string
	CallID                                              string `json:"call_id"`
	Encrypted                                           string `json:"encrypted_content"`
	Summary, Content                                    []struct{ Type, Text string }
}

type responsesObject struct {
	ID, Status, Model string
	Output            []responsesItem
	Incomplete        struct{ Reason string } `json:"incomplete_details"`
	Usage             *struct {
		Input   int64 `json:"input_tokens"`
		Output  int64 `json:"output_tokens"`
		Total   int64 `json:"total_tokens"`
		Details struct {
			Cached int64 `json:"cached_tokens"`
		} `json:"input_tokens_details"`
		OutputDetails struct {
			Reasoning int64 `json:"reasoning_tokens"`
		} `json:"output_tokens_details"`
	}
}

func (o responsesObject) into(t testing.TB, d *decoded) {
	d.Model, d.Stop, d.Ended = o.Model, o.Status+o.Incomplete.Reason, true
	if o.Usage == nil {
		t.Error("finished response without usage")
		return
	}
	d.Input, d.Output, d.CacheRead, d.Thoughts = o.Usage.Input, o.Usage.Output, o.Usage.Details.Cached, o.Usage.OutputDetails.Reasoning
	if o.Usage.Total != d.Input+d.Output {
		t.Errorf("total_tokens = %d, want %d", o.Usage.Total, d.Input+d.Output)
	}
	for _, item := range o.Output {
		switch item.Type {
		case "message":
			d.Text += item.Content[0].Text
		case "reasoning":
			d.Thinking += item.Summary[0].Text
			if item.Encrypted == "" {
				t.Error("reasoning without the encrypted content that was asked for")
			}
		case "function_call":
			d.Tools = append(d.Tools, call{item.Name, item.Namespace, item.Arguments})
		case "custom_tool_call":
			d.Tools = append(d.Tools, call{item.Name, item.Namespace, item.Input})
		}
	}
}

func decodeResponsesAnswer(t testing.TB, stream bool, body string) decoded {
	t.Helper()
	var d decoded
	if !stream {
		var o responsesObject
		unmarshal(t, body, &o)
		o.into(t, &d)
		return d
	}
	names, data := sse(t, body)
	streamed := map[string]string{}
	var done []responsesItem
	for i, text := range data {
		var e struct {
			Type     string
			Sequence int `json:"sequence_number"`
			Response responsesObject
			Item     responsesItem
			ItemID   string `json:"item_id"`
			Delta    string
		}
		unmarshal(t, text, &e)
		if e.Type != names[i] || e.Sequence != i {
			t.Errorf("event %d: name %q, type %q, sequence %d", i, names[i], e.Type, e.Sequence)
		}
		d.Events = append(d.Events, e.Type)
		streamed[e.ItemID] += e.Delta
		switch e.Type {
		case "response.output_text.delta":
			d.Pieces = append(d.Pieces, e.Delta)
		case "response.output_item.done":
			done = append(done, e.Item)
		case "response.completed", "response.incomplete":
			e.Response.into(t, &d)
			if diff := cmp.Diff(e.Response.Output, done); diff != "" {
				t.Errorf("finished items differ from the final output: %s", diff)
			}
		}
	}
	for _, item := range done {
		want := item.Arguments + item.Input
		for _, part := range append(item.Summary, item.Content...) {
			want += part.Text
		}
		if streamed[item.ID] != want {
			t.Errorf("%s: streamed %q, finished %q", item.Type, streamed[item.ID], want)
		}
	}
	return d
}

func decodeChatAnswer(t testing.TB, stream bool, body string) decoded {
	t.Helper()
	type message struct {
		Content   string
		Reasoning string `json:"reasoning_content"`
		Calls     []struct {
			Index    int
			ID, Type string
			Function struct{ Name, Arguments string }
		} `json:"tool_calls"`
	}
	type object struct {
		Object, Model string
		Choices       []struct {
			Message, Delta message
			Finish         *string `json:"finish_reason"`
		}
		Usage *struct {
			Prompt        int64 `json:"prompt_tokens"`
			Completion    int64 `json:"completion_tokens"`
			PromptDetails struct {
				Cached int64 `json:"cached_tokens"`
			} `json:"prompt_tokens_details"`
			Details struct {
				Reasoning int64 `json:"reasoning_tokens"`
			} `json:"completion_tokens_details"`
		}
	}
	var d decoded
	take := func(text, kind string) {
		var o object
		unmarshal(t, text, &o)
		if o.Object != kind {
			t.Errorf("object = %q, want %q", o.Object, kind)
		}
		d.Model = o.Model
		if o.Usage != nil {
			d.Input, d.Output, d.CacheRead = o.Usage.Prompt, o.Usage.Completion, o.Usage.PromptDetails.Cached
			d.Thoughts = o.Usage.Details.Reasoning
		}
		for _, c := range o.Choices {
			m := c.Message
			if stream {
				m = c.Delta
			}
			d.Text += m.Content
			if stream && m.Content != "" {
				d.Pieces = append(d.Pieces, m.Content)
			}
			d.Thinking += m.Reasoning
			for i, tc := range m.Calls {
				if !stream {
					tc.Index = i
				}
				if tc.Index == len(d.Tools) {
					if tc.ID == "" || tc.Type != "function" {
						t.Errorf("tool call begins without id or type: %+v", tc)
					}
					d.Tools = append(d.Tools, call{})
				}
				d.Tools[tc.Index].Name += tc.Function.Name
				d.Tools[tc.Index].Input += tc.Function.Arguments
			}
			if c.Finish != nil {
				d.Stop = *c.Finish
			}
		}
	}
	if !stream {
		take(body, "chat.completion")
		d.Ended = true
		return d
	}
	_, data := sse(t, body)
	for i, text := range data {
		if text == "[DONE]" {
			d.Ended = i == len(data)-1
			continue
		}
		take(text, "chat.completion.chunk")
	}
	return d
}

func decodeGeminiAnswer(t testing.TB, stream bool, body string) decoded {
	t.Helper()
	var d decoded
	take := func(text string) {
		var o struct {
			ModelVersion string
			Candidates   []struct {
				Content struct {
					Role  string
					Parts []struct {
						Text         string
						Thought      bool
						FunctionCall *struct {
							ID, Name string
							Args     any
						}
					}
				}
				FinishReason string
			}
			UsageMetadata *struct{ PromptTokenCount, CandidatesTokenCount, ThoughtsTokenCount, CachedContentTokenCount, TotalTokenCount int64 }
		}
		unmarshal(t, text, &o)
		d.Model = o.ModelVersion
		if u := o.UsageMetadata; u != nil {
			d.Input, d.Output = u.PromptTokenCount, u.CandidatesTokenCount+u.ThoughtsTokenCount
			d.CacheRead, d.Thoughts = u.CachedContentTokenCount, u.ThoughtsTokenCount
			if u.TotalTokenCount != d.Input+d.Output {
				t.Errorf("totalTokenCount = %d, want %d", u.TotalTokenCount, d.Input+d.Output)
			}
		}
		for _, c := range o.Candidates {
			if c.Content.Role != "model" {
				t.Errorf("role = %q, want model", c.Content.Role)
			}
			for _, p := range c.Content.Parts {
				switch {
				case p.FunctionCall != nil:
					if p.FunctionCall.ID == "" {
						t.Error("function call without id")
					}
					d.Tools = append(d.Tools, call{Name: p.FunctionCall.Name, Input: string(marshal(p.FunctionCall.Args))})
				case p.Thought:
					d.Thinking += p.Text
				default:
					d.Text += p.Text
					if p.Text != "" {
						d.Pieces = append(d.Pieces, p.Text)
					}
				}
			}
			if c.FinishReason != "" {
				d.Stop, d.Ended = c.FinishReason, true
			}
		}
	}
	if !stream {
		take(body)
		return d
	}
	_, data := sse(t, body)
	for _, text := range data {
		take(text)
	}
	return d
}
