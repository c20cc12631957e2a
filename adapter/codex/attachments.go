package codex

import (
	"fmt"

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

const takes = "PNG, JPEG, GIF and WebP images and text"

// accepted reports whether Codex may accept an attachment of this kind; unknown kinds depend on the content.
func accepted(kind cliagent.Media) bool {
	return kind == cliagent.MediaUnknown || kind == cliagent.MediaImage || kind == cliagent.MediaText
}

// parts converts a message's attachments. Texts are read here.
func parts(list []execution.Attachment) ([]part, error) {
	return cliagent.ConvertAttachments(name, list, attachment)
}

func attachment(a execution.Attachment) (part, error) {
	mediaType := a.MediaType()
	kind := cliagent.MediaOf(mediaType)
	if !accepted(kind) {
		return part{}, fmt.Errorf("%s has the media type %s; codex takes %s", cliagent.AttachmentName(a), mediaType, takes)
	}
	if kind == cliagent.MediaImage && a.FilePath != "" {
		return part{path: a.FilePath}, nil
	}
	r, err := cliagent.ReadAttachment(a)
	switch {
	case err != nil:
		return part{}, err
	case r.Kind == cliagent.MediaImage && a.FilePath != "":
		return part{path: a.FilePath}, nil
	case r.Kind == cliagent.MediaImage:
		return part{image: cliagent.MakeDataURL(r.MediaType, r.Data)}, nil
	case r.Kind == cliagent.MediaText:
		return part{text: cliagent.FileBlock(r.Title, string(r.Data))}, nil
	}
	return part{}, fmt.Errorf("%s is neither an image nor text; codex takes %s", r.Title, takes)
}
