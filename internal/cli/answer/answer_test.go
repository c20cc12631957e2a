package answer

import (
	"errors"
	"testing"

	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/internal/control"
	"github.com/drawbar/drawbar/internal/runstore"
)

// TestChoice: a question is answered only if it is certain which one is meant.
func TestChoice(t *testing.T) {
	t.Parallel()
	pending := []control.PendingQuestion{
		{ID: "q1", Approval: true, Text: "run a command", Detail: "rm -r build"},
		{ID: "q2", Approval: true, Text: "write a file"},
		{ID: "q3", Text: "which colour?"},
	}
	for _, c := range []struct {
		choice  choice
		pending []control.PendingQuestion
		want    execution.QuestionID
		code    execution.ErrorCode
		hint    string
	}{
		{choice{id: "", approval: true}, pending[:1], "q1", "", ""},
		{choice{id: "", approval: true}, pending, "", execution.CodeValidation, "--question q1 (run a command: rm -r build), --question q2 (write a file)"},
		{choice{id: "q2", approval: true}, pending, "q2", "", ""},
		{choice{id: "", approval: false}, pending, "q3", "", ""},
		{choice{id: "q3", approval: true}, pending, "", execution.CodeNoPendingInteraction, "drawbar answer R TEXT"},
		{choice{id: "q1", approval: false}, pending, "", execution.CodeNoPendingInteraction, "drawbar approve R, drawbar deny R"},
		{choice{id: "q9", approval: true}, pending, "", execution.CodeInteractionNotFound, "drawbar ps --waiting"},
		{choice{id: "", approval: true}, nil, "", execution.CodeNoPendingInteraction, "drawbar attach R"},
	} {
		q, err := c.choice.of(runstore.Run{ID: "R"}, c.pending)
		var e *execution.Error
		if errors.As(err, &e); q.ID != c.want || err != nil && (e == nil || e.Code != c.code || e.Hint != c.hint) || (err == nil) != (c.code == "") {
			t.Errorf("%+v: %q, %v", c.choice, q.ID, err)
		}
	}
}
