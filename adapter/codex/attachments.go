package codex

import (
	"cmp"
	"encoding/base64"
	"fmt"
	"path/filepath"
	"unicode/utf8"

	"github.com/drawbar/drawbar/adapter/cliagent"
	"github.com/drawbar/drawbar/execution"
)

// maxImage bounds one image, which is sent on as base64. maxPrompt is what Codex takes as one message, texts of
// attachments included.
const (
	maxImage  = 32 << 20
	maxPrompt = 1 << 20 // characters
)

// taken is the class of a media type in Codex's eyes: it takes images and text.
func taken(mediaType string) cliagent.MediaClass {
	switch c := cliagent.ClassOf(mediaType); c {
	case cliagent.MediaPDF, cliagent.MediaAudio:
		return cliagent.MediaOther
	default:
		return c
	}
}

// part is one attachment as Codex takes it: an image by path or by data: URL, or a text.
type part struct {
	path  string
	image string
	text  string
}

// parts are a message's attachments. Texts are read here; every fault of every attachment is in the one error.
func parts(list []execution.Attachment) ([]part, error) {
	var all []part
	var faults execution.FieldErrors
	for i, a := range list {
		p, err := attachment(a)
		if err != nil {
			faults = append(faults, execution.FieldError{Field: fmt.Sprintf("message.attachments[%d]", i), Message: err.Error()})
			continue
		}
		all = append(all, p)
	}
	if len(faults) > 0 {
		e := execution.Errorf(execution.CodeValidation, "attachments codex cannot take: %s", faults.Error())
		e.Fields, e.Agent = faults, name
		return nil, e
	}
	return all, nil
}

func attachment(a execution.Attachment) (part, error) {
	title := cmp.Or(a.Name, filepath.Base(cmp.Or(a.FilePath, "attachment")))
	t := cliagent.MediaType(a)
	if taken(t) == cliagent.MediaOther {
		return part{}, fmt.Errorf("%s has the media type %s; codex takes PNG, JPEG, GIF and WebP images and text", title, t)
	}
	if taken(t) == cliagent.MediaImage && a.FilePath != "" {
		return part{path: a.FilePath}, nil
	}
	data, err := cliagent.AttachmentContent(a, maxImage)
	if err != nil {
		return part{}, err
	}
	if taken(t) == cliagent.MediaUnknown {
		t = cliagent.SniffMedia(data)
	}
	switch {
	case taken(t) == cliagent.MediaImage && a.FilePath != "":
		return part{path: a.FilePath}, nil
	case taken(t) == cliagent.MediaImage:
		return part{image: "data:" + t + ";base64," + base64.StdEncoding.EncodeToString(data)}, nil
	case taken(t) == cliagent.MediaText && utf8.Valid(data):
		return part{text: cliagent.FileBlock(title, string(data))}, nil
	case taken(t) == cliagent.MediaText:
		return part{}, fmt.Errorf("%s is no UTF-8 text", title)
	}
	return part{}, fmt.Errorf("%s is neither an image nor text; codex takes PNG, JPEG, GIF and WebP images and text", title)
}
