package gemini

import (
	"os"
	"strings"
)

// asksAlways reports whether a policy makes every tool call a question.
func asksAlways(file string) bool {
	data, err := os.ReadFile(file)
	return err == nil && strings.Contains(string(data), "[[rule]]\ntoolName = \"*\"\ndecision = \"ask_user\"\n")
}
