package cli

// Printable is a text of an agent without what would move a terminal's cursor or change its colours.
func Printable(text string) string { return printable(text) }
