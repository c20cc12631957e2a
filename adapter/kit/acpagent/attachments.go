package acpagent

import (
	"cmp"
	"encoding/base64"
	"fmt"
	"net/url"
	"path/filepath"
	"runtime"
	"strings"
	"unicode/utf8"

	"github.com/drawbar/drawbar/adapter/kit/cliagent"
	"github.com/drawbar/drawbar/execution"
)

type blockKind int

const (
	blockText blockKind = iota
	blockImage
	blockAudio
	blockLink
	blockResource
)

// block is one block of a prompt.
type block struct {
	kind blockKind
	text string
	data string // base64
	mime string
	name string
	uri  string
}

// attachment is an attachment that was read.
type attachment struct {
	title string
	class cliagent.Media
	mime  string
	uri   string
	text  string // of a text
	data  string // base64 of other content; empty for a URL
}

// readAttachments reads a message's attachments. One error lists every fault.
func readAttachments(agent string, list []execution.Attachment) ([]attachment, error) {
	i := -1
	return cliagent.ConvertAttachments(agent, list, func(a execution.Attachment) (attachment, error) {
		i++
		return readAttachment(a, i)
	})
}

func readAttachment(a execution.Attachment, i int) (attachment, error) {
	r := attachment{title: cliagent.AttachmentTitle(a, i), mime: a.MediaType()}
	if _, _, inline := execution.DataURL(a.URL); a.URL != "" && !inline {
		if strings.HasPrefix(strings.ToLower(a.URL), "data:") {
			return r, fmt.Errorf("%s is a data: URL without base64 content", r.title)
		}
		r.class, r.uri = cliagent.MediaOther, a.URL // the agent may download it
		return r, nil
	}
	data, err := cliagent.AttachmentContent(a)
	if err != nil {
		return r, fmt.Errorf("%s: %w", r.title, err)
	}
	if cliagent.MediaOf(r.mime) == cliagent.MediaUnknown {
		r.mime = cliagent.SniffMedia(data)
	}
	r.class = cliagent.MediaOf(r.mime)
	r.uri = fileURI(cmp.Or(a.FilePath, "/"+filepath.Base(r.title)))
	if r.class == cliagent.MediaText {
		if !utf8.Valid(data) {
			return r, fmt.Errorf("%s is not UTF-8 text", r.title)
		}
		r.text = string(data)
		return r, nil
	}
	r.data = base64.StdEncoding.EncodeToString(data)
	return r, nil
}

func fileURI(path string) string {
	path = filepath.ToSlash(path)
	if runtime.GOOS == "windows" && !strings.HasPrefix(path, "/") {
		path = "/" + path
	}
	return (&url.URL{Scheme: "file", Path: path}).String()
}

// block converts the attachment to a type that the agent accepts. Every agent accepts text and URLs.
func (a attachment) block(agent string, can promptAbilities) (block, *execution.Error) {
	refuse := func(capability, what string) (block, *execution.Error) {
		e := execution.Errorf(execution.CodeCapability, "attachment %s: %s accepts no %s over the Agent Client Protocol", a.title, agent, what)
		e.Agent, e.Capability = agent, capability
		return block{}, e.WithHint("leave it out, or use an agent that does: drawbar agents show claude")
	}
	switch {
	case a.data == "" && a.class != cliagent.MediaText:
		return block{kind: blockLink, name: a.title, uri: a.uri, mime: a.mime}, nil
	case a.class == cliagent.MediaText && can.embedded && !can.inlineTexts:
		return block{kind: blockResource, uri: a.uri, text: a.text, mime: a.mime}, nil
	case a.class == cliagent.MediaText:
		return block{kind: blockText, text: cliagent.FileBlock(a.title, a.text)}, nil
	case a.class == cliagent.MediaImage:
		if !can.image {
			return refuse("imageInput", "images")
		}
		return block{kind: blockImage, data: a.data, mime: a.mime}, nil
	case a.class == cliagent.MediaAudio && can.audio:
		return block{kind: blockAudio, data: a.data, mime: a.mime}, nil
	case can.inline && can.image:
		return block{kind: blockImage, data: a.data, mime: a.mime}, nil
	case can.embedded && (can.blobs == nil || can.blobs(a.mime)):
		return block{kind: blockResource, uri: a.uri, data: a.data, mime: a.mime}, nil
	}
	return refuse("fileAttachments", "attachments of type "+a.mime)
}
