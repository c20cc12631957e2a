package harness

import (
	"encoding/base64"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/drawbar/drawbar/adapter/kit/modelapi"
	"github.com/drawbar/drawbar/adapter/kit/modelapi/modelapitest"
	"github.com/drawbar/drawbar/agent"
	"github.com/drawbar/drawbar/execution"
)

// dot is a PNG of one pixel.
const dot = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="

// pictures writes an image, a text that begins like one, and an image that is too large, into the request's folder.
func pictures(t *testing.T, req execution.Request) {
	t.Helper()
	png, err := base64.StdEncoding.DecodeString(dot)
	if err != nil {
		t.Fatal(err)
	}
	large := string(png) + strings.Repeat("\x00", modelapi.MaxImage)
	for name, data := range map[string]string{"dot.txt": string(png), "gif.txt": "GIF8 is how it begins\n", "large.png": large} {
		if err := os.WriteFile(filepath.Join(req.Run.Cwd, name), []byte(data), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// TestImages: the model sees an image that it reads, regardless of its name, after the results of all calls, and also in a later run of
// the session.
func TestImages(t *testing.T) {
	t.Parallel()
	m := &model{replies: []reply{calls(`read {"path":"dot.txt"}`, `read {"path":"gif.txt"}`, `read {"path":"large.png"}`), says("a dot")}}
	req := request(t, "what is it?")
	req.Run.Env = map[string]string{"XDG_STATE_HOME": t.TempDir()}
	pictures(t, req)
	res, events := modelapitest.Run(t, m.backend(Limits{}), req, agent.Options{})
	if res.Status != execution.StatusCompleted {
		t.Fatalf("%s %+v", res.Status, res.Error)
	}
	said := m.said(t, 1)
	got := strings.Join(said, "\n")
	for _, want := range []string{"[dot.txt is an image, image/png, ", "GIF8 is how it begins", "large.png is a binary file"} {
		if !strings.Contains(got, "tool: ") || !strings.Contains(got, want) {
			t.Errorf("%q is missing in %s", want, got)
		}
	}
	last := said[len(said)-1]
	if !strings.HasPrefix(last, "user: ") || strings.Count(got, "image_url:map") != 1 || !strings.Contains(last, "image/png;base64,"+dot) {
		t.Errorf("the last message is %s", last)
	}
	if got := bodies[execution.FileRead](events); len(got) != 2 {
		t.Errorf("read %v", got)
	}
	m.replies = append(m.replies, says("still a dot"))
	again := request(t, "and now?")
	again.Run.Cwd, again.Run.Env, again.Run.SessionID = req.Run.Cwd, req.Run.Env, res.SessionID
	res, _ = modelapitest.Run(t, m.backend(Limits{}), again, agent.Options{})
	if res.Status != execution.StatusCompleted || !strings.Contains(m.bodies[2], dot) {
		t.Errorf("%s %+v: the session has no image", res.Status, res.Error)
	}
}

// TestImagesUnseen: a model that sees no images continues without those of tools. An image of the person ends the run: they learn why.
func TestImagesUnseen(t *testing.T) {
	t.Parallel()
	refuses := reply{status: 400, why: "this model does not support images"}
	m := &model{replies: []reply{calls(`read {"path":"dot.txt"}`), refuses, says("I cannot see it")}}
	req := request(t, "what is it?")
	req.Run.Env = map[string]string{"XDG_STATE_HOME": t.TempDir()}
	pictures(t, req)
	res, _ := modelapitest.Run(t, m.backend(Limits{}), req, agent.Options{})
	if res.Status != execution.StatusCompleted || res.Text != "I cannot see it" {
		t.Errorf("%s %+v", res.Status, res.Error)
	}
	if last := m.bodies[2]; strings.Contains(last, dot) || !strings.Contains(last, "you cannot see images") {
		t.Errorf("the model got %s", last)
	}
	m.replies = append(m.replies, says("no"))
	again := request(t, "and now?")
	again.Run.Cwd, again.Run.Env, again.Run.SessionID = req.Run.Cwd, req.Run.Env, res.SessionID
	res, _ = modelapitest.Run(t, m.backend(Limits{}), again, agent.Options{})
	if res.Status != execution.StatusCompleted || strings.Contains(m.bodies[3], dot) {
		t.Errorf("%s %+v: the session still has the image", res.Status, res.Error)
	}
	m = &model{replies: []reply{calls(`read {"path":"dot.txt"}`), {status: 401, why: "wrong key"}}}
	if res, _ = modelapitest.Run(t, m.backend(Limits{}), req, agent.Options{}); res.Status != execution.StatusFailed || m.called() != 2 {
		t.Errorf("%s %+v after %d calls", res.Status, res.Error, m.called())
	}
	m = &model{replies: []reply{refuses}}
	req.Message.Attachments = []execution.Attachment{{Base64: dot, MimeType: "image/png", Name: "dot.png"}}
	res, _ = modelapitest.Run(t, m.backend(Limits{}), req, agent.Options{})
	if res.Status != execution.StatusFailed || !strings.Contains(res.Error.Message, "does not support images") || m.called() != 1 {
		t.Errorf("%s %+v after %d calls", res.Status, res.Error, m.called())
	}
}
