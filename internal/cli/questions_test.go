package cli

import (
	"reflect"
	"testing"

	"github.com/drawbar/drawbar/execution"
)

func TestDecide(t *testing.T) {
	for in, want := range map[string]execution.Decision{
		"y": {Approve: true}, " YES ": {Approve: true}, "n": {Reason: "denied by the user"}, "": {Reason: "denied by the user"},
		"use another file": {Reason: "use another file"},
	} {
		if got := Decide(in); !reflect.DeepEqual(got, want) {
			t.Errorf("%q: %+v, want %+v", in, got, want)
		}
	}
}
