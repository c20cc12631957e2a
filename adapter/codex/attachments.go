package codex

import (
	"fmt"
	"unicode/utf8"

	"github.com/drawbar/drawbar/adapter/kit/cliagent"
	"github.com/drawbar/drawbar/execution"
)

// maxPrompt is the most that Codex accepts as one message, including attached texts.
const maxPrompt = 1 << 20 // characters

// part is one attachment as Codex accepts it: an image by path or by data: URL, or a text.
type part struct {
	path  string
	image string
	text  string
}

// takes reports whether Codex may accept an attachment of this kind; unknown kinds depend on the content.
func takes(kind cliagent.Media) bool {
	return kind == cliagent.MediaUnknown || kind == cliagent.MediaImage || kind == cliagent.MediaText
}

// parts converts a message's attachments. Texts are read here.
func parts(list []execution.Attachment) ([]part, error) {
	return cliagent.ConvertAttachments(name, list, attachment)
}

func attachment(a execution.Attachment) (part, error) {
	title, mediaType := cliagent.AttachmentName(a), cliagent.MediaType(a)
	kind := cliagent.MediaOf(mediaType)
	if !takes(kind) {
		return part{}, fmt.Errorf("%s has the media type %s; codex takes PNG, JPEG, GIF and WebP images and text", title, mediaType)
	}
	if kind == cliagent.MediaImage && a.FilePath != "" {
		return part{path: a.FilePath}, nil
	}
	data, err := cliagent.AttachmentContent(a)
	if err != nil {
		return part{}, err
	}
	if kind == cliagent.MediaUnknown {
		mediaType = cliagent.SniffMedia(data)
		kind = cliagent.MediaOf(mediaType)
	}
	switch {
	case kind == cliagent.MediaImage && a.FilePath != "":
		return part{path: a.FilePath}, nil
	case kind == cliagent.MediaImage:
		return part{image: cliagent.MakeDataURL(mediaType, data)}, nil
	case kind == cliagent.MediaText && utf8.Valid(data):
		return part{text: cliagent.FileBlock(title, string(data))}, nil
	case kind == cliagent.MediaText:
		return part{}, fmt.Errorf("%s is not UTF-8 text", title)
	}
	return part{}, fmt.Errorf("%s is neither an image nor text; codex takes PNG, JPEG, GIF and WebP images and text", title)
}
