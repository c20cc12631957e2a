package copilot

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/drawbar/drawbar/adapter/kit/cliagent"
	"github.com/drawbar/drawbar/execution"
)

const takes = "copilot takes PNG, JPEG, GIF and WebP images and text"

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
	data, err := cliagent.AttachmentContent(a)
	if err != nil {
		return attachment{}, err
	}
	title, mediaType := cliagent.AttachmentName(a), cliagent.MediaType(a)
	if cliagent.MediaOf(mediaType) == cliagent.MediaUnknown {
		mediaType = cliagent.SniffMedia(data)
	}
	switch cliagent.MediaOf(mediaType) {
	case cliagent.MediaImage:
		if len(data) == 0 {
			return attachment{}, fmt.Errorf("%s is empty", title)
		}
		return attachment{image: data, mediaType: mediaType, file: a.FilePath}, nil
	case cliagent.MediaText:
		if !utf8.Valid(data) {
			return attachment{}, fmt.Errorf("%s is not UTF-8 text", title)
		}
		return attachment{text: cliagent.FileBlock(title, string(data))}, nil
	}
	return attachment{}, fmt.Errorf("%s has the media type %s; %s", title, mediaType, takes)
}
