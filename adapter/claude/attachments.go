package claude

import (
	"encoding/base64"
	"fmt"
	"unicode/utf8"

	"github.com/drawbar/drawbar/adapter/kit/cliagent"
	"github.com/drawbar/drawbar/execution"
)

// attachments returns the content blocks of a message's attachments. Files are read here.
func attachments(list []execution.Attachment) ([]any, error) {
	return cliagent.ConvertAttachments(name, list, attachment)
}

func attachment(a execution.Attachment) (any, error) {
	title := cliagent.AttachmentName(a)
	if isAddress(a) {
		source := map[string]any{"type": "url", "url": a.URL}
		switch cliagent.MediaOf(cliagent.MediaType(a)) {
		case cliagent.MediaImage:
			return map[string]any{"type": "image", "source": source}, nil
		case cliagent.MediaPDF:
			return map[string]any{"type": "document", "source": source, "title": title}, nil
		}
		return nil, fmt.Errorf("a URL must lead to a PNG, JPEG, GIF or WebP image or a PDF; state its mimeType if the name does not tell")
	}
	data, err := cliagent.AttachmentContent(a)
	switch {
	case err != nil:
		return nil, err
	case len(data) == 0: // the model API refuses an empty document
		return nil, fmt.Errorf("%s is empty", a.FilePath)
	}
	mediaType := cliagent.MediaType(a)
	if cliagent.MediaOf(mediaType) == cliagent.MediaUnknown {
		mediaType = cliagent.SniffMedia(data)
	}
	switch cliagent.MediaOf(mediaType) {
	case cliagent.MediaImage:
		return map[string]any{"type": "image", "source": encoded(mediaType, data)}, nil
	case cliagent.MediaPDF:
		return map[string]any{"type": "document", "source": encoded(mediaType, data), "title": title}, nil
	case cliagent.MediaText:
		if !utf8.Valid(data) {
			return nil, fmt.Errorf("%s is not UTF-8 text", title)
		}
		return map[string]any{"type": "document", "title": title,
			"source": map[string]any{"type": "text", "media_type": "text/plain", "data": string(data)}}, nil
	}
	return nil, fmt.Errorf("%s has the media type %s; claude takes PNG, JPEG, GIF and WebP images, PDF and text", title, mediaType)
}

// isAddress reports whether the model API has to download the attachment.
func isAddress(a execution.Attachment) bool {
	_, _, inline := cliagent.DataURL(a.URL)
	return a.URL != "" && !inline
}

func encoded(mediaType string, data []byte) map[string]any {
	return map[string]any{"type": "base64", "media_type": mediaType, "data": base64.StdEncoding.EncodeToString(data)}
}
