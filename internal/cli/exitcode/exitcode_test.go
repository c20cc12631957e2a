package exitcode

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/drawbar/drawbar/execution"
)

func TestTableCoversEveryErrorCode(t *testing.T) {
	known := map[int]string{}
	for i, c := range Table() {
		if known[c.Code] != "" {
			t.Errorf("exit code %d is used by %s and %s", c.Code, known[c.Code], c.Name)
		}
		if i > 0 && c.Code <= table[i-1].Code {
			t.Errorf("exit code %d is out of order", c.Code)
		}
		known[c.Code] = c.Name
	}
	help := Help()
	for _, row := range execution.ErrorRows() {
		if known[row.Exit] == "" {
			t.Errorf("%s exits with %d, which the table does not know", row.Code, row.Exit)
		}
		if !strings.Contains(help, string(row.Code)) {
			t.Errorf("the help does not mention %s", row.Code)
		}
	}
}

func TestOf(t *testing.T) {
	for _, tc := range []struct {
		err  error
		want int
	}{
		{nil, 0},
		{errors.New("x"), 1},
		{execution.Errorf(execution.CodeValidation, "x"), 2},
		{fmt.Errorf("wrapped: %w", execution.Errorf(execution.CodeUnknownAgent, "x")), 3},
		{&Error{Code: 130}, 130},
		{fmt.Errorf("wrapped: %w", &Error{Code: 8, Err: errors.New("x")}), 8},
	} {
		if got := Of(tc.err); got != tc.want {
			t.Errorf("%v: got %d, want %d", tc.err, got, tc.want)
		}
	}
	for want, r := range map[int]execution.Result{
		0:   {Status: execution.StatusCompleted},
		20:  {Status: execution.StatusNeedsClarification},
		21:  {Status: execution.StatusFailed, Error: execution.NewResultError(execution.CodeBudgetExceeded, "")},
		22:  {Status: execution.StatusDeferred},
		23:  {Status: execution.StatusFailed, Error: execution.NewResultError(execution.CodeInvalidOutput, "")},
		24:  {Status: execution.StatusCompleted, DeniedCalls: 1},
		6:   {Status: execution.StatusUnsupported, Error: execution.NewResultError(execution.CodeCapability, "")},
		14:  {Status: execution.StatusFailed, Error: execution.NewResultError(execution.CodeRateLimited, "")},
		130: {Status: execution.StatusFailed, Error: execution.NewResultError(execution.CodeInterrupted, "")},
	} {
		if got := OfResult(r); got != want {
			t.Errorf("%s: got %d, want %d", r.Status, got, want)
		}
	}
}
