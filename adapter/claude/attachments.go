package claude

import (
	"cmp"
	"encoding/base64"
	"fmt"
	"path/filepath"
	"unicode/utf8"

	"github.com/drawbar/drawbar/adapter/cliagent"
	"github.com/drawbar/drawbar/execution"
)

// maxAttachment bounds one attachment; the model API takes 32 MB for a whole request.
const maxAttachment = 32 << 20

// attachments are the content blocks of a message's attachments. Files are read here; every fault of every attachment
// is in the one error.
func attachments(list []execution.Attachment) ([]any, error) {
	var blocks []any
	var faults execution.FieldErrors
	for i, a := range list {
		block, err := attachment(a)
		if err != nil {
			faults = append(faults, execution.FieldError{Field: fmt.Sprintf("message.attachments[%d]", i), Message: err.Error()})
			continue
		}
		blocks = append(blocks, block)
	}
	if len(faults) > 0 {
		e := execution.Errorf(execution.CodeValidation, "attachments claude cannot take: %s", faults.Error())
		e.Fields, e.Agent = faults, name
		return nil, e
	}
	return blocks, nil
}

func attachment(a execution.Attachment) (any, error) {
	title := cmp.Or(a.Name, filepath.Base(cmp.Or(a.FilePath, cliagent.URLPath(a.URL), "attachment")))
	if a.URL != "" {
		source := map[string]any{"type": "url", "url": a.URL}
		switch cliagent.ClassOf(cliagent.MediaType(a)) {
		case cliagent.MediaImage:
			return map[string]any{"type": "image", "source": source}, nil
		case cliagent.MediaPDF:
			return map[string]any{"type": "document", "source": source, "title": title}, nil
		}
		return nil, fmt.Errorf("a URL must lead to a PNG, JPEG, GIF or WebP image or a PDF; state its mimeType if the name does not tell")
	}
	data, err := cliagent.AttachmentContent(a, maxAttachment)
	switch {
	case err != nil:
		return nil, err
	case len(data) == 0:
		return nil, fmt.Errorf("%s is empty", title)
	}
	mediaType := cliagent.MediaType(a)
	if cliagent.ClassOf(mediaType) == cliagent.MediaUnknown {
		mediaType = cliagent.SniffMedia(data)
	}
	switch cliagent.ClassOf(mediaType) {
	case cliagent.MediaImage:
		return map[string]any{"type": "image", "source": encoded(mediaType, data)}, nil
	case cliagent.MediaPDF:
		return map[string]any{"type": "document", "source": encoded(mediaType, data), "title": title}, nil
	case cliagent.MediaText:
		if !utf8.Valid(data) {
			return nil, fmt.Errorf("%s is no UTF-8 text", title)
		}
		return map[string]any{"type": "document", "title": title,
			"source": map[string]any{"type": "text", "media_type": "text/plain", "data": string(data)}}, nil
	}
	return nil, fmt.Errorf("%s has the media type %s; claude takes PNG, JPEG, GIF and WebP images, PDF and text", title, mediaType)
}

func encoded(mediaType string, data []byte) map[string]any {
	return map[string]any{"type": "base64", "media_type": mediaType, "data": base64.StdEncoding.EncodeToString(data)}
}
