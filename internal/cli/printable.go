package cli

// Printable removes control characters from a text, which could move the terminal's cursor or change its colours.
func Printable(text string) string { return printable(text) }
