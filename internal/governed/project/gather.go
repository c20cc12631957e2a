package project

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/govern/protocol"
	"github.com/drawbar/drawbar/internal/base/repofile"
	"github.com/drawbar/drawbar/internal/governed/governance/gate"
	"github.com/drawbar/drawbar/internal/governed/prompt"
)

const (
	maxRolePrompt = 256 << 10
	maxPreview    = 256 << 10 // bytes of a displayed file
	maxGateFile   = 4 << 20
	maxLogTail    = 256 << 10
	maxEventRunes = 300      // bytes of a displayed agent event
	maxLogRead    = 64 << 20 // bytes in which lines are counted
)

// Gather reads the files shown in a bundle: the role's prompt, the files of gate and workflow kit, and, for a
// reviewer, the last turn's files, proposal and log. The input already has Config, State, TurnID and History.
// Project files are read from work, the turn's worktree; empty means root. The warnings do not stop the turn.
func Gather(root, work string, in *prompt.Input) ([]string, error) {
	top, err := os.OpenRoot(root)
	if err != nil {
		return nil, execution.Errorf(execution.CodeConfig, "open the project %s: %v", root, err)
	}
	defer func() { _ = top.Close() }()
	files := top
	if work != "" && work != root {
		if files, err = os.OpenRoot(work); err != nil {
			return nil, execution.Errorf(execution.CodeConfig, "open the worktree of turn %s: %v", in.TurnID, err).
				WithHint("recreate it: drawbar govern reissue --turn %s", in.TurnID)
		}
		defer func() { _ = files.Close() }()
	}
	warning, err := rolePrompt(top, in)
	if err != nil {
		return nil, err
	}
	var warnings []string
	if warning != "" {
		warnings = append(warnings, warning)
	}
	gateFiles, more := gateFiles(files, in.Config, in.State.Phase)
	in.GateFiles, warnings = gateFiles, append(warnings, more...)
	in.Files = map[string]prompt.File{}
	for _, p := range in.Paths() {
		f, warning := preview(files, p)
		if warning != "" {
			warnings = append(warnings, warning)
		}
		in.Files[p] = f
	}
	if last, ok := in.Reviewed(); ok {
		in.Log = archivedLog(top, last.TurnID)
		if in.Proposal = proposal(top, last); in.Proposal == nil && len(in.Proposals) > 0 {
			in.Proposal = proposalIn(top, in.Proposals[len(in.Proposals)-1].Ref)
		}
	}
	return warnings, nil
}

// GateFiles reads the files that a decision about leaving the phase depends on: those of gate.Paths that exist
// in dir, the project or a turn's worktree. A path that is not a regular file there, or cannot be read, does
// not exist and adds a warning.
func GateFiles(dir string, c *protocol.Config, phase string) (map[string]string, []string, error) {
	r, err := os.OpenRoot(dir)
	if err != nil {
		return nil, nil, execution.Errorf(execution.CodeConfig, "open %s to read the files of phase %s: %v", dir, phase, err)
	}
	defer func() { _ = r.Close() }()
	files, warnings := gateFiles(r, c, phase)
	return files, warnings, nil
}

func gateFiles(r *os.Root, c *protocol.Config, phase string) (map[string]string, []string) {
	files := map[string]string{}
	var warnings []string
	for _, p := range gate.Paths(c, phase) {
		data, more, err := readHead(r, p, maxGateFile)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			continue
		case err != nil:
			warnings = append(warnings, fmt.Sprintf("%s does not count as existing: %v", p, err))
			continue
		case more:
			warnings = append(warnings, fmt.Sprintf("%s is larger than %d MiB: only its beginning is read", p, maxGateFile>>20))
		}
		files[p] = string(data)
	}
	return files, warnings
}

// rolePrompt reads the prompt of the turn's role: the file in prompts, else .agentxchain/prompts/<role>.md.
func rolePrompt(top *os.Root, in *prompt.Input) (warning string, err error) {
	turn, ok := in.State.ActiveTurns.Get(in.TurnID)
	if !ok || turn == nil {
		return "", nil // BuildBundle reports it
	}
	role := turn.AssignedRole
	name, named := in.Config.Prompts.Get(role)
	if !named || strings.TrimSpace(name) == "" {
		name, named = protocol.PromptsDir+"/"+role+".md", false
	}
	name = path.Clean(filepath.ToSlash(name))
	fail := func(format string, a ...any) error {
		return execution.Errorf(execution.CodeConfig, "the prompt of role %s, %s: %s", role, name, fmt.Sprintf(format, a...)).
			WithHint("correct prompts.%s in %s, or the file", role, protocol.ConfigFile)
	}
	if !filepath.IsLocal(filepath.FromSlash(name)) {
		return "", fail("the path leads out of the project")
	}
	data, more, err := readHead(top, name, maxRolePrompt)
	switch {
	case errors.Is(err, fs.ErrNotExist) && !named:
		return "", nil
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Sprintf("prompts.%s names %s, which does not exist: the turn runs without instructions for its role", role, name), nil
	case err != nil:
		return "", fail("%v", err)
	case more:
		return "", fail("the file is larger than %d KiB", maxRolePrompt>>10)
	case !utf8.Valid(data) || bytes.IndexByte(data, 0) >= 0:
		return "", fail("the file is not UTF-8 text")
	}
	in.RolePrompt, in.RolePromptPath = strings.TrimPrefix(string(data), "\ufeff"), name
	return "", nil
}

// preview reads the beginning of a file. A path that is not a regular file of the project is missing and adds a
// warning.
func preview(r *os.Root, name string) (prompt.File, string) {
	if !filepath.IsLocal(filepath.FromSlash(name)) {
		return prompt.File{}, name + " leads out of the project and is not shown"
	}
	if secretName(name) {
		_, err := r.Stat(filepath.FromSlash(name))
		return prompt.File{Present: err == nil, Withheld: true}, ""
	}
	data, more, err := readHead(r, name, maxPreview)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return prompt.File{}, ""
	case err != nil:
		return prompt.File{}, fmt.Sprintf("%s is not shown: %v", name, err)
	}
	if more { // the last character may be cut in two
		for range utf8.UTFMax - 1 {
			if r, n := utf8.DecodeLastRune(data); r != utf8.RuneError || n != 1 {
				break
			}
			data = data[:len(data)-1]
		}
	}
	if bytes.IndexByte(data, 0) >= 0 || !utf8.Valid(data) {
		return prompt.File{Present: true, Binary: true}, ""
	}
	return prompt.File{Present: true, Text: string(data), Cut: more}, ""
}

// secretName reports whether a file of that name usually contains secrets: its content is never copied.
func secretName(name string) bool {
	base := strings.ToLower(path.Base(name))
	switch path.Ext(base) {
	case ".pem", ".key", ".p12", ".pfx", ".jks", ".keystore", ".kdbx":
		return true
	}
	if base == ".env" || strings.HasPrefix(base, ".env.") && base != ".env.example" && base != ".env.sample" && base != ".env.template" {
		return true
	}
	return slices.Contains([]string{".npmrc", ".netrc", "_netrc", ".pypirc", ".git-credentials", "credentials", "credentials.json",
		"id_rsa", "id_dsa", "id_ecdsa", "id_ed25519"}, base)
}

// readHead reads up to limit bytes of a regular file; links are followed only within the folder.
func readHead(r *os.Root, name string, limit int64) (data []byte, more bool, err error) {
	f, _, err := repofile.Open(r, name)
	if err != nil {
		return nil, false, err
	}
	defer f.Close()
	data, err = io.ReadAll(io.LimitReader(f, limit+1))
	if int64(len(data)) > limit {
		return data[:limit], true, err
	}
	return data, false, err
}

// archivedLog returns the end of an accepted turn's output or of an agent's events. Its bundle is in the
// archive.
func archivedLog(top *os.Root, turn string) *prompt.Log {
	if !plainName(turn) {
		return nil
	}
	dir := path.Join(protocol.ArchiveDir, turn)
	for _, name := range []string{EvidenceDir + "/stdout.log", "stdout.log"} {
		if l := logTail(top, path.Join(dir, name)); l != nil {
			return l
		}
	}
	l := logTail(top, path.Join(dir, EvidenceDir, "events.jsonl"))
	if l != nil {
		for i, line := range l.Lines { // an event contains a tool's output; its beginning identifies it
			if r := []rune(line); len(r) > maxEventRunes {
				l.Lines[i] = string(r[:maxEventRunes]) + " …"
			}
		}
	}
	return l
}

func logTail(r *os.Root, name string) *prompt.Log {
	fi, err := r.Lstat(name)
	if err != nil || !fi.Mode().IsRegular() {
		return nil
	}
	f, err := r.Open(name)
	if err != nil {
		return nil
	}
	defer f.Close()
	var tail []byte
	total, last := 0, byte('\n')
	buf := make([]byte, 64<<10)
	if over := fi.Size() - maxLogRead; over > 0 {
		if _, err := f.Seek(over, io.SeekStart); err != nil {
			return nil
		}
	}
	for {
		n, err := f.Read(buf)
		if n > 0 {
			total += bytes.Count(buf[:n], []byte{'\n'})
			last = buf[n-1]
			tail = append(tail, buf[:n]...)
			if over := len(tail) - maxLogTail; over > 0 {
				tail = append(tail[:0], tail[over:]...)
			}
		}
		if err != nil {
			break
		}
	}
	if last != '\n' {
		total++
	}
	text := strings.TrimRight(strings.ToValidUTF8(string(tail), "\ufffd"), "\r\n")
	if strings.TrimSpace(text) == "" {
		return nil
	}
	lines := strings.Split(text, "\n")
	if len(lines) > prompt.MaxLogLines {
		lines = lines[len(lines)-prompt.MaxLogLines:]
	}
	return &prompt.Log{Lines: lines, Total: total}
}

// proposal reads the last turn's proposal from the folder that its artifact names.
func proposal(top *os.Root, last protocol.HistoryEntry) *prompt.Proposal {
	if last.Artifact.Ref == nil {
		return nil
	}
	return proposalIn(top, path.Clean(*last.Artifact.Ref))
}

// proposalIn reads the proposal in a folder.
func proposalIn(top *os.Root, ref string) *prompt.Proposal {
	if !strings.HasPrefix(ref, protocol.ProposedDir+"/") || !filepath.IsLocal(filepath.FromSlash(ref)) {
		return nil
	}
	out := &prompt.Proposal{Ref: ref}
	if f, _ := preview(top, ref+"/"+protocol.ProposalFile); f.Present {
		out.Summary = f.Text
	}
	for line := range strings.SplitSeq(out.Summary, "\n") {
		name, action, ok := proposedLine(line)
		if !ok || !filepath.IsLocal(filepath.FromSlash(name)) || slices.ContainsFunc(out.Files, func(f prompt.ProposedFile) bool { return f.Path == name }) {
			continue
		}
		f := prompt.ProposedFile{Path: name, Action: action}
		if len(out.Files) < prompt.MaxPreviewFiles {
			f.File, _ = preview(top, path.Join(ref, name))
		}
		out.Files = append(out.Files, f)
	}
	if out.Summary == "" && len(out.Files) == 0 {
		return nil
	}
	return out
}

// proposedLine parses "- `path` — action" of a PROPOSAL.md.
func proposedLine(line string) (name, action string, ok bool) {
	rest, ok := strings.CutPrefix(strings.TrimSpace(line), "- `")
	if !ok {
		return "", "", false
	}
	name, action, ok = strings.Cut(rest, "` — ")
	if !ok || name == "" {
		return "", "", false
	}
	action, _, _ = strings.Cut(strings.TrimSpace(action), " ")
	return name, action, true
}
