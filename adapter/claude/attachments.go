package claude

import (
	"encoding/base64"
	"fmt"

	"github.com/drawbar/drawbar/adapter/kit/cliagent"
	"github.com/drawbar/drawbar/execution"
)

// attachments returns the content blocks of a message's attachments. Files are read here.
func attachments(list []execution.Attachment) ([]any, error) {
	return cliagent.ConvertAttachments(name, list, attachment)
}

func attachment(a execution.Attachment) (any, error) {
	if isAddress(a) {
		source := map[string]any{"type": "url", "url": a.URL}
		switch cliagent.MediaOf(a.MediaType()) {
		case cliagent.MediaImage:
			return map[string]any{"type": "image", "source": source}, nil
		case cliagent.MediaPDF:
			return map[string]any{"type": "document", "source": source, "title": cliagent.AttachmentName(a)}, nil
		}
		return nil, fmt.Errorf("a URL must lead to a PNG, JPEG, GIF or WebP image or a PDF; state its mimeType if the name does not tell")
	}
	r, err := cliagent.ReadAttachment(a)
	switch {
	case err != nil:
		return nil, err
	case len(r.Data) == 0: // the model API refuses an empty document
		return nil, fmt.Errorf("%s is empty", a.FilePath)
	}
	switch r.Kind {
	case cliagent.MediaImage:
		return map[string]any{"type": "image", "source": encoded(r.MediaType, r.Data)}, nil
	case cliagent.MediaPDF:
		return map[string]any{"type": "document", "source": encoded(r.MediaType, r.Data), "title": r.Title}, nil
	case cliagent.MediaText:
		return map[string]any{"type": "document", "title": r.Title,
			"source": map[string]any{"type": "text", "media_type": "text/plain", "data": string(r.Data)}}, nil
	}
	return nil, fmt.Errorf("%s has the media type %s; claude takes PNG, JPEG, GIF and WebP images, PDF and text", r.Title, r.MediaType)
}

// isAddress reports whether the model API has to download the attachment.
func isAddress(a execution.Attachment) bool {
	_, _, inline := execution.DataURL(a.URL)
	return a.URL != "" && !inline
}

func encoded(mediaType string, data []byte) map[string]any {
	return map[string]any{"type": "base64", "media_type": mediaType, "data": base64.StdEncoding.EncodeToString(data)}
}
