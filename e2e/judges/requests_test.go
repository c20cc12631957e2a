package judges

import (
	"bytes"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/anthropics/anthropic-sdk-go"
	"github.com/google/go-cmp/cmp"
	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/responses"
	"google.golang.org/genai"
)

// generateContent is the body of Google's generateContent, which the SDK builds from these types.
type generateContent struct {
	Contents          []*genai.Content        `json:"contents,omitempty"`
	SystemInstruction *genai.Content          `json:"systemInstruction,omitempty"`
	Tools             []*genai.Tool           `json:"tools,omitempty"`
	ToolConfig        *genai.ToolConfig       `json:"toolConfig,omitempty"`
	SafetySettings    []*genai.SafetySetting  `json:"safetySettings,omitempty"`
	GenerationConfig  *genai.GenerationConfig `json:"generationConfig,omitempty"`
}

// reader returns what a vendor's SDK understands of a request, as the SDK would send it.
type reader func(body []byte) ([]byte, error)

func of[T any](body []byte) ([]byte, error) {
	var v T
	d := json.NewDecoder(bytes.NewReader(body))
	d.DisallowUnknownFields()
	if err := d.Decode(&v); err != nil {
		return nil, err
	}
	return json.Marshal(v)
}

var readers = map[string]reader{
	"anthropic": of[anthropic.MessageNewParams],
	"openai":    of[responses.ResponseNewParams],
	"ollama":    of[openai.ChatCompletionNewParams],
	"google":    of[generateContent],
}

// judge fails if the SDK drops or changes anything of a request.
func judge(t *testing.T, wire string, body []byte) {
	t.Helper()
	var want, got map[string]any
	if err := json.Unmarshal(body, &want); err != nil {
		t.Fatal(err)
	}
	delete(want, "stream") // the SDKs add it by the method that is called
	read, err := readers[wire](body)
	if err == nil {
		err = json.Unmarshal(read, &got)
	}
	if err != nil {
		t.Fatalf("%s: %v\n%s", wire, err, body)
	}
	delete(got, "stream")
	if d := cmp.Diff(plain(want), plain(got)); d != "" {
		t.Errorf("the SDK of %s reads another request (- what Drawbar sent):\n%s", wire, d)
	}
}

// plain writes what the SDKs write otherwise with the same meaning in one way: an empty description and empty arguments are none, and
// the text of a tool's result is a list of one text.
func plain(v any) any {
	switch v := v.(type) {
	case []any:
		for i := range v {
			v[i] = plain(v[i])
		}
	case map[string]any:
		if v["description"] == "" {
			delete(v, "description")
		}
		if args, is := v["args"].(map[string]any); is && len(args) == 0 {
			delete(v, "args")
		}
		if text, is := v["content"].(string); is && v["type"] == "tool_result" {
			v["content"] = []any{map[string]any{"type": "text", "text": text}}
		}
		for name := range v {
			v[name] = plain(v[name])
		}
	}
	return v
}

// TestJudges: a member that is misspelt or of the wrong kind is found.
func TestJudges(t *testing.T) {
	t.Parallel()
	for wire, read := range readers {
		for _, body := range []string{`{"modell":"m"}`, `{"contents":[{"parts":[{"txt":"hi"}]}]}`, `{"messages":[{"role":"user","content":[{"type":"text","text":"hi","txet":"x"}]}]}`,
			`{"input":[{"role":"user","content":[{"type":"input_text","text":"hi","txet":"x"}]}]}`} {
			got, err := read([]byte(body))
			if err == nil && string(got) == body {
				t.Errorf("%s takes %s", wire, body)
			}
		}
	}
}

// TestRecordedRequests: requests that use every option of a model API are requests to the vendor's SDK.
func TestRecordedRequests(t *testing.T) {
	t.Parallel()
	for wire, dir := range map[string]string{"anthropic": "anthropic", "openai": "openai", "google": "google", "ollama": "ollama"} {
		t.Run(wire, func(t *testing.T) {
			f, err := os.Open(filepath.Join("..", "..", "adapter", dir, "testdata", "sent.json"))
			if err != nil {
				t.Fatal(err)
			}
			defer f.Close()
			n := 0
			for d := json.NewDecoder(f); ; n++ {
				var call struct{ Body json.RawMessage }
				if err := d.Decode(&call); err == io.EOF {
					break
				} else if err != nil {
					t.Fatal(err)
				}
				judge(t, wire, call.Body)
			}
			if n == 0 {
				t.Error("there are no requests")
			}
		})
	}
}
