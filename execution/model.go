package execution

import "strings"

// FindModel returns the model that a name refers to: by its id or an alias, or by the longest id or alias that
// the name starts with if only a date or a delivery version follows, as in claude-opus-4-5-20251101 and
// claude-opus-4-5@20251101. A provider's prefix and a window size at the end are ignored:
// anthropic/claude-opus-4-5, us.anthropic.claude-opus-4-5-20251101-v1:0, claude-opus-4-5[1m].
func FindModel(list []Model, name string) *Model {
	for _, n := range []string{name, BareModel(name)} {
		var found *Model
		longest := -1
		for i := range list {
			for j := -1; j < len(list[i].Aliases); j++ {
				id := list[i].ID
				if j >= 0 {
					id = list[i].Aliases[j]
				}
				if rest, ok := strings.CutPrefix(n, id); ok && id != "" && len(id) > longest && delivery(rest) {
					found, longest = &list[i], len(id)
				}
			}
		}
		if found != nil {
			return found
		}
	}
	return nil
}

// BareModel returns a model's name without the provider's additions.
func BareModel(name string) string {
	name = name[strings.LastIndexByte(name, '/')+1:]
	if before, _, ok := strings.Cut(name, "["); ok {
		name = before
	}
	if i := strings.LastIndex(name, "anthropic."); i >= 0 {
		name = name[i+len("anthropic."):]
	}
	return name
}

// delivery reports whether the text after a model's id leaves the model the same: nothing, a date, "latest", or
// a version of the delivering service.
func delivery(rest string) bool {
	if rest == "" {
		return true
	}
	if rest[0] != '-' && rest[0] != '@' && rest[0] != ':' {
		return false
	}
	for part := range strings.FieldsFuncSeq(rest, func(r rune) bool { return r == '-' || r == '@' || r == ':' }) {
		digits := strings.Trim(part, "0123456789") == ""
		switch {
		case digits && (len(part) == 8 && part[:2] == "20"): // 20251101
		case part == "latest", part == "default", part == "v1", part == "v2", part == "0": // Bedrock: -v1:0
		case digits && isDate(rest):
		default:
			return false
		}
	}
	return true
}

// isDate reports whether rest has the form -2026-03-05.
func isDate(rest string) bool {
	return len(rest) == 11 && rest[1:3] == "20" && rest[5] == '-' && rest[8] == '-'
}
