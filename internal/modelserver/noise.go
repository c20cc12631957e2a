package modelserver

import (
	"regexp"
	"strings"
	"sync"

	"github.com/drawbar/drawbar/internal/base/jsontext"
	"github.com/drawbar/drawbar/internal/base/lazy"
)

// identity are the members of a request that say who asks and in which session. No answer depends on them, they differ from run
// to run, and they are nobody else's business: a recording leaves them out.
var identity = []string{"metadata", "client_metadata", "prompt_cache_key", "safety_identifier", "user", "session_id"}

// contextTags enclose what agents add to a person's message on their own: the environment, instructions of files, reminders.
var contextTags = []string{
	"system-reminder", "environment_context", "session_context", "user_instructions", "permissions instructions", "skills_instructions",
	"environment_details", "info-msg", "current_datetime",
}

var contextBlocks = sync.OnceValue(func() *regexp.Regexp {
	var all []string
	for _, tag := range contextTags {
		first, _, _ := strings.Cut(tag, " ")
		all = append(all, "<"+regexp.QuoteMeta(tag)+">.*?</"+regexp.QuoteMeta(tag)+">", "<"+regexp.QuoteMeta(first)+` [^<>]*>.*?</`+regexp.QuoteMeta(first)+">")
	}
	// Without the heading it is what a person may write.
	all = append(all, `# AGENTS\.md instructions[^\n]*\s*<INSTRUCTIONS>.*?</INSTRUCTIONS>`)
	return regexp.MustCompile("(?s)" + strings.Join(all, "|"))
})

const months = `jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?`

// noise is what differs between two runs of the same work, with the word that stands for it. The order matters.
var noise = []struct {
	word string
	find func() *regexp.Regexp
}{
	{"{id}", lazy.Regexp(`(?i)\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b`)},
	{"{id}", lazy.Regexp(`\b(?:toolu|call|msg|fc|ctc|rs|resp|req|chatcmpl|item|sig|srvtoolu)[-_][A-Za-z0-9_-]{6,}`)},
	{"{id}", lazy.Regexp(`(?i)\b(?:(?:chunk|session|process|request|task|thread|agent|with) id|agentid):? ?[0-9a-z_-]+`)},
	{"{id}", lazy.Regexp(`(?i)\bp(?:g?id|gid)s?\b[:= ]+\d+|\boriginal token count: \d+`)},
	{"{id}", lazy.Regexp(`\[[\w./-]+ (?:\(root-commit\) )?[0-9a-f]{7,12}\]`)}, // a commit that git made
	{"{id}", lazy.Regexp(`\b(?:[0-9a-f]{32}|[0-9a-f]{40}|[0-9a-f]{64})\b`)},
	{"{date}", lazy.Regexp(`\b\d{4}[-/]\d\d[-/]\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:[.,]\d+)?)?(?: ?(?:Z|[+-]\d\d:?\d\d|UTC))?)?`)},
	{"{date}", lazy.Regexp(`(?i)\b(?:(?:mon|tues?|wed(?:nes)?|thu(?:rs)?|fri|sat(?:ur)?|sun)(?:day)?,? )?` +
		`(?:(?:` + months + `)\.? +\d{1,2}\b(?:,? +\d{4}\b|,? +\d\d:\d\d(?::\d\d)?\b)?|\d{1,2} (?:` + months + `)\b,? \d{4}\b)`)},
	{"{date}", lazy.Regexp(`\b\d{1,2}/\d{1,2}/\d{4}\b`)},
	{"{address}", lazy.Regexp(`(?:\b127\.0\.0\.1|\blocalhost|\[::1\]):\d{2,5}\b`)},
	// A line and a column of a file are no time.
	{"{time}", lazy.Regexp(`\b\d{1,2}:\d\d:\d\d(?:\.\d+)?(?: ?[AaPp][Mm]\b)?|\b\d{1,2}:\d\d ?[AaPp][Mm]\b`)},
	{" {time}", lazy.Regexp(`(?:^|\s)(?:[01]\d|2[0-3]):[0-5]\d\b`)},
	{"{time}", lazy.Regexp(`\b\d+(?:\.\d+)?(?: ?(?:ns|us|µs|ms)\b|s\b| (?:milli)?seconds?\b)`)},
	{"{time}", lazy.Regexp(`\b1[6-9]\d{8}(?:\d{3})?\b`)},
	{"{tmp}", lazy.Regexp(`(?:/private)?/(?:tmp|var/folders|var/tmp)/[^\s"'<>,;:)\]}` + "`" + `]+`)},
	{"{home}", lazy.Regexp(`(?:/home|/Users)/[^/\s"'<>,;:)\]}` + "`" + `]+|/root\b|\b[A-Za-z]:\\+Users\\+[^\\\s"'<>]+`)},
}

// plain returns a text without noise. dir is the working directory, or empty.
func plain(text, dir string) string {
	text = jsontext.ReplacePath(text, dir, "{dir}")
	for _, n := range noise {
		text = n.find().ReplaceAllString(text, n.word)
	}
	return strings.TrimSpace(strings.ReplaceAll(text, "\r\n", "\n"))
}

// said returns what a person and tools said, without what the agent added and without noise.
func said(text, dir string) string { return plain(contextBlocks().ReplaceAllString(text, ""), dir) }

var dirStated = lazy.Regexp(`(?i)(?:working directory(?: is)?|in the directory|workspace directories|<cwd>|<root>)[\s:*"'` + "`" + `-]*?((?:/|[A-Za-z]:\\)[^\n"<>` + "`" + `]*)`)

// dirOf returns the working directory that an agent states in its texts, or empty.
func dirOf(texts ...string) string {
	for _, text := range texts {
		m := dirStated().FindStringSubmatch(text)
		if m == nil {
			continue
		}
		dir := m[1]
		for _, end := range []string{". ", ", ", " (", "; "} {
			dir, _, _ = strings.Cut(dir, end)
		}
		if dir = strings.TrimRight(dir, " \t\r./\\,"); len(dir) > 2 {
			return dir
		}
	}
	return ""
}
