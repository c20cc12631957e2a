package proposal

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/govern"
	"github.com/drawbar/drawbar/govern/protocol"
	"github.com/drawbar/drawbar/internal/governed/prompt"
)

// Derived are the files that an acceptance writes for a turn, by path, and the artifact that they are.
type Derived struct {
	Ref     string
	Files   map[string][]byte
	Digests protocol.Ordered[string]
}

// Derive returns the files of an accepted turn: its proposal if it has changes, else its review if its runtime writes no
// files itself. Nil means that there is nothing to write.
func Derive(root string, h protocol.HistoryEntry, changes []protocol.ProposedChange, authority protocol.Authority, runtimeType string) (*Derived, error) {
	switch {
	case authority == protocol.Proposed && len(changes) > 0:
		return derive(root, h, changes)
	case protocol.Remote(runtimeType) && h.Artifact.Type == protocol.ArtifactReview:
		d := &Derived{Ref: protocol.ReviewFile(h.TurnID, h.Role)}
		d.put(d.Ref, []byte(prompt.Review(h)))
		return d, nil
	}
	return nil, nil
}

func derive(root string, h protocol.HistoryEntry, changes []protocol.ProposedChange) (*Derived, error) {
	top, err := os.OpenRoot(root)
	if err != nil {
		return nil, execution.Errorf(execution.CodeConfig, "open the project %s: %v", root, err)
	}
	defer func() { _ = top.Close() }()
	d := &Derived{Ref: dirOf(h.TurnID)}
	s := snapshot{CapturedAt: h.AcceptedAt}
	for _, c := range changes {
		f := govern.ProposedFile{Path: c.Path, Action: c.Action}
		sum, err := Digest(top, c.Path)
		switch {
		case err == nil:
			f.Existed, f.SHA256 = true, &sum
		case !errors.Is(err, fs.ErrNotExist):
			return nil, execution.Errorf(execution.CodeValidation, "the proposed file %s cannot be compared with the work tree: %v", c.Path, err).
				WithHint("move it away, then: drawbar govern accept")
		}
		s.Files = append(s.Files, f)
	}
	b, err := protocol.MarshalFile(s)
	if err != nil {
		return nil, err
	}
	d.put(d.Ref+"/"+SummaryFile, []byte(prompt.ProposalText(h, changes)))
	d.put(d.Ref+"/"+snapshotFile, b)
	for _, c := range changes {
		if c.Action != Delete && c.Content != nil {
			d.put(d.Ref+"/"+c.Path, []byte(*c.Content))
		}
	}
	return d, nil
}

func (d *Derived) put(name string, content []byte) {
	if d.Files == nil {
		d.Files = map[string][]byte{}
	}
	d.Files[name] = content
	sum := sha256.Sum256(content)
	d.Digests.Set(name, digestPrefix+hex.EncodeToString(sum[:]))
}

const digestPrefix = "sha256:"

func digestOf(r io.Reader) (string, error) {
	h := sha256.New()
	if _, err := io.Copy(h, r); err != nil {
		return "", fmt.Errorf("read it: %w", err)
	}
	return digestPrefix + hex.EncodeToString(h.Sum(nil)), nil
}
