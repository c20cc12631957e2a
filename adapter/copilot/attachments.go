package copilot

import (
	"fmt"
	"strings"

	"github.com/drawbar/drawbar/adapter/kit/cliagent"
	"github.com/drawbar/drawbar/execution"
)

const takes = "PNG, JPEG, GIF and WebP images and text"

// attachment is an attachment as Copilot accepts it: a text precedes the prompt, an image is a file.
type attachment struct {
	text      string
	image     []byte
	mediaType string // of an image
	file      string // of an image that already is a file
}

// attachments returns the text that precedes the prompt and the files of the images.
func attachments(l *cliagent.Launch) (prompt string, images []string, err error) {
	parts, err := cliagent.ConvertAttachments(name, l.Request.Message.Attachments, readAttachment)
	if err != nil {
		return "", nil, err
	}
	var texts strings.Builder
	for i, p := range parts {
		switch {
		case p.image == nil:
			texts.WriteString(p.text + "\n\n")
		case p.file != "":
			images = append(images, p.file)
		default:
			_, extension, _ := strings.Cut(p.mediaType, "/")
			images = append(images, l.File(fmt.Sprintf("attachments/%d.%s", i+1, extension), p.image))
		}
	}
	return texts.String(), images, nil
}

func readAttachment(a execution.Attachment) (attachment, error) {
	r, err := cliagent.ReadAttachment(a)
	switch {
	case err != nil:
		return attachment{}, err
	case r.Kind == cliagent.MediaImage && len(r.Data) == 0:
		return attachment{}, fmt.Errorf("%s is empty", r.Title)
	case r.Kind == cliagent.MediaImage:
		return attachment{image: r.Data, mediaType: r.MediaType, file: a.FilePath}, nil
	case r.Kind == cliagent.MediaText:
		return attachment{text: cliagent.FileBlock(r.Title, string(r.Data))}, nil
	}
	return attachment{}, fmt.Errorf("%s has the media type %s; copilot takes %s", r.Title, r.MediaType, takes)
}
