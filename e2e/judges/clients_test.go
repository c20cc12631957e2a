package judges

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/anthropics/anthropic-sdk-go"
	anthropicoption "github.com/anthropics/anthropic-sdk-go/option"
	"github.com/google/go-cmp/cmp"
	"github.com/openai/openai-go/v3"
	openaioption "github.com/openai/openai-go/v3/option"
	"github.com/openai/openai-go/v3/responses"
	"google.golang.org/genai"
)

// answer is what a client understood of an answer of the model server.
type answer struct {
	Thinking, Text, Call, Input string
	In, Out                     int64
}

const turns = `{"onExhausted":"last","turns":[
	{"status":429,"error":{"type":"rate_limit_error","message":"slowly"},"retryAfter":0,"match":{"contains":"too fast"},"repeat":true},
	{"thinking":"I think","text":"Hello, you.","tools":[{"name":"look","input":{"at":"it"}}],"usage":{"input":11,"output":7},"chunks":3,"repeat":true}]}`

var wanted = answer{"I think", "Hello, you.", "look", `{"at":"it"}`, 11, 7}

// clients ask the model server by the SDK of a vendor, streaming or not. An error is the status that the SDK found.
var clients = map[string]func(t *testing.T, url, prompt string, stream bool) (answer, int){
	"anthropic":   askAnthropic,
	"responses":   askResponses,
	"completions": askCompletions,
	"google":      askGoogle,
}

// TestClients: the vendors' own SDKs understand every answer of the model server as it is scripted.
func TestClients(t *testing.T) {
	t.Parallel()
	_, url := serve(t, turns)
	for name, ask := range clients {
		for how, stream := range map[string]bool{"whole": false, "stream": true} {
			t.Run(name+"/"+how, func(t *testing.T) {
				t.Parallel()
				got, status := ask(t, url, "hi", stream)
				want := wanted
				if name == "completions" {
					want.Thinking = "" // its SDK knows no thinking
				}
				if d := cmp.Diff(want, got); d != "" || status != 0 {
					t.Errorf("status %d: %s", status, d)
				}
				if _, status := ask(t, url, "too fast", stream); status != 429 {
					t.Errorf("a refusal has status %d", status)
				}
			})
		}
	}
}

func askAnthropic(t *testing.T, url, prompt string, stream bool) (a answer, status int) {
	client := anthropic.NewClient(anthropicoption.WithBaseURL(url), anthropicoption.WithAPIKey("dummy"), anthropicoption.WithMaxRetries(0))
	params := anthropic.MessageNewParams{Model: "model-1", MaxTokens: 2000, Messages: []anthropic.MessageParam{anthropic.NewUserMessage(anthropic.NewTextBlock(prompt))}}
	var message anthropic.Message
	var err error
	if stream {
		s := client.Messages.NewStreaming(t.Context(), params)
		for s.Next() {
			if err := message.Accumulate(s.Current()); err != nil {
				t.Fatal(err)
			}
		}
		err = s.Err()
	} else {
		var whole *anthropic.Message
		if whole, err = client.Messages.New(t.Context(), params); err == nil {
			message = *whole
		}
	}
	if failed, is := errors.AsType[*anthropic.Error](err); is {
		return a, failed.StatusCode
	} else if err != nil {
		t.Fatal(err)
	}
	for _, block := range message.Content {
		switch b := block.AsAny().(type) {
		case anthropic.ThinkingBlock:
			a.Thinking += b.Thinking
		case anthropic.TextBlock:
			a.Text += b.Text
		case anthropic.ToolUseBlock:
			a.Call, a.Input = b.Name, string(b.Input)
		}
	}
	if message.StopReason != anthropic.StopReasonToolUse {
		t.Errorf("it stopped for %s", message.StopReason)
	}
	a.In, a.Out = message.Usage.InputTokens, message.Usage.OutputTokens
	return a, 0
}

func askResponses(t *testing.T, url, prompt string, stream bool) (a answer, status int) {
	client := openai.NewClient(openaioption.WithBaseURL(url+"/v1"), openaioption.WithAPIKey("dummy"), openaioption.WithMaxRetries(0))
	params := responses.ResponseNewParams{Model: "model-1", Input: responses.ResponseNewParamsInputUnion{OfString: openai.String(prompt)}}
	var response *responses.Response
	var err error
	if stream {
		var text strings.Builder
		s := client.Responses.NewStreaming(t.Context(), params)
		for s.Next() {
			switch e := s.Current().AsAny().(type) {
			case responses.ResponseTextDeltaEvent:
				text.WriteString(e.Delta)
			case responses.ResponseCompletedEvent:
				response = &e.Response
			}
		}
		if err = s.Err(); err == nil && (response == nil || response.OutputText() != text.String()) {
			t.Fatalf("the pieces are %q, the whole is %+v", text.String(), response)
		}
	} else {
		response, err = client.Responses.New(t.Context(), params)
	}
	if code, failed := refused(t, err); failed {
		return a, code
	}
	for _, item := range response.Output {
		switch i := item.AsAny().(type) {
		case responses.ResponseReasoningItem:
			for _, s := range i.Summary {
				a.Thinking += s.Text
			}
		case responses.ResponseFunctionToolCall:
			a.Call, a.Input = i.Name, i.Arguments
		}
	}
	a.Text, a.In, a.Out = response.OutputText(), response.Usage.InputTokens, response.Usage.OutputTokens
	return a, 0
}

func askCompletions(t *testing.T, url, prompt string, stream bool) (a answer, status int) {
	client := openai.NewClient(openaioption.WithBaseURL(url+"/v1"), openaioption.WithAPIKey("dummy"), openaioption.WithMaxRetries(0))
	params := openai.ChatCompletionNewParams{Model: "model-1", Messages: []openai.ChatCompletionMessageParamUnion{openai.UserMessage(prompt)}}
	var completion *openai.ChatCompletion
	var err error
	if stream {
		params.StreamOptions.IncludeUsage = openai.Bool(true)
		var all openai.ChatCompletionAccumulator
		s := client.Chat.Completions.NewStreaming(t.Context(), params)
		for s.Next() {
			if !all.AddChunk(s.Current()) {
				t.Fatalf("a piece does not fit: %s", s.Current().RawJSON())
			}
		}
		completion, err = &all.ChatCompletion, s.Err()
	} else {
		completion, err = client.Chat.Completions.New(t.Context(), params)
	}
	if code, failed := refused(t, err); failed {
		return a, code
	}
	if len(completion.Choices) != 1 || completion.Choices[0].FinishReason != "tool_calls" {
		t.Fatalf("the choices are %+v", completion.Choices)
	}
	message := completion.Choices[0].Message
	for _, c := range message.ToolCalls {
		a.Call, a.Input = c.Function.Name, c.Function.Arguments
	}
	a.Text, a.In, a.Out = message.Content, completion.Usage.PromptTokens, completion.Usage.CompletionTokens
	return a, 0
}

// refused returns the status of an error of OpenAI's SDK.
func refused(t *testing.T, err error) (status int, is bool) {
	t.Helper()
	if failed, is := errors.AsType[*openai.Error](err); is {
		return failed.StatusCode, true
	}
	if err != nil {
		t.Fatal(err)
	}
	return 0, false
}

func askGoogle(t *testing.T, url, prompt string, stream bool) (a answer, status int) {
	client, err := genai.NewClient(t.Context(), &genai.ClientConfig{APIKey: "dummy", Backend: genai.BackendGeminiAPI, HTTPOptions: genai.HTTPOptions{BaseURL: url}})
	if err != nil {
		t.Fatal(err)
	}
	var answers []*genai.GenerateContentResponse
	ask := func(ctx context.Context) error {
		if !stream {
			whole, err := client.Models.GenerateContent(ctx, "model-1", genai.Text(prompt), nil)
			answers = append(answers, whole)
			return err
		}
		for piece, err := range client.Models.GenerateContentStream(ctx, "model-1", genai.Text(prompt), nil) {
			if err != nil {
				return err
			}
			answers = append(answers, piece)
		}
		return nil
	}
	err = ask(t.Context())
	if failed, is := errors.AsType[genai.APIError](err); is {
		return a, failed.Code
	} else if err != nil {
		t.Fatal(err)
	}
	for _, piece := range answers {
		for _, c := range piece.Candidates {
			if c.Content == nil {
				continue
			}
			for _, p := range c.Content.Parts {
				switch {
				case p.Thought:
					a.Thinking += p.Text
				case p.FunctionCall != nil:
					input, err := json.Marshal(p.FunctionCall.Args)
					if err != nil {
						t.Fatal(err)
					}
					a.Call, a.Input = p.FunctionCall.Name, string(input)
				default:
					a.Text += p.Text
				}
			}
		}
		if u := piece.UsageMetadata; u != nil {
			a.In, a.Out = int64(u.PromptTokenCount), int64(u.CandidatesTokenCount+u.ThoughtsTokenCount)
		}
	}
	return a, 0
}
