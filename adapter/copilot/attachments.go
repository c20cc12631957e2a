package copilot

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/drawbar/drawbar/adapter/cliagent"
	"github.com/drawbar/drawbar/execution"
)

// maxAttachment bounds one attachment; model APIs take about that much in a whole request.
const maxAttachment = 32 << 20

const takes = "copilot takes PNG, JPEG, GIF and WebP images and text"

// attachment is one attachment as Copilot takes it: a text goes in front of the prompt, an image as a file.
type attachment struct {
	text      string
	image     []byte
	mediaType string // of an image
}

// attachments are the text that goes in front of the prompt and the files of the images. Every fault of every attachment is
// in the one error.
func attachments(l *cliagent.Launch) (prompt string, images []string, err error) {
	var texts strings.Builder
	var faults execution.FieldErrors
	for i, a := range l.Request.Message.Attachments {
		p, err := readAttachment(a)
		switch {
		case err != nil:
			faults = append(faults, execution.FieldError{Field: fmt.Sprintf("message.attachments[%d]", i), Message: err.Error()})
		case p.image == nil:
			texts.WriteString(p.text + "\n\n")
		case a.FilePath != "":
			images = append(images, a.FilePath)
		default:
			_, extension, _ := strings.Cut(p.mediaType, "/")
			images = append(images, l.File(fmt.Sprintf("attachments/%d.%s", i+1, extension), p.image))
		}
	}
	if len(faults) > 0 {
		e := execution.Errorf(execution.CodeValidation, "attachments copilot cannot take: %s", faults.Error())
		e.Fields, e.Agent = faults, name
		return "", nil, e
	}
	return texts.String(), images, nil
}

func readAttachment(a execution.Attachment) (attachment, error) {
	data, err := cliagent.AttachmentContent(a, maxAttachment)
	if err != nil {
		return attachment{}, err
	}
	title, mediaType := cliagent.AttachmentTitle(a, 0), cliagent.MediaType(a)
	if cliagent.ClassOf(mediaType) == cliagent.MediaUnknown {
		mediaType = cliagent.SniffMedia(data)
	}
	switch cliagent.ClassOf(mediaType) {
	case cliagent.MediaImage:
		if len(data) == 0 {
			return attachment{}, fmt.Errorf("%s is empty", title)
		}
		return attachment{image: data, mediaType: mediaType}, nil
	case cliagent.MediaText:
		if !utf8.Valid(data) {
			return attachment{}, fmt.Errorf("%s is no UTF-8 text", title)
		}
		return attachment{text: cliagent.FileBlock(title, string(data))}, nil
	}
	return attachment{}, fmt.Errorf("%s has the media type %s; %s", title, mediaType, takes)
}
