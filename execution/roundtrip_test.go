package execution

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// fill sets every field of v to a value that is not its zero value, so that a field which does not survive a round trip
// is found whatever its name.
func fill(v reflect.Value, depth int) {
	switch v.Kind() {
	case reflect.String:
		if names := EnumValues()[v.Type().Name()]; v.Type() != reflect.TypeFor[string]() && len(names) > 0 {
			v.SetString(names[len(names)-1])
			return
		}
		v.SetString("x" + v.Type().Name())
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int, reflect.Int64:
		v.SetInt(7)
	case reflect.Uint64:
		v.SetUint(7)
	case reflect.Float64:
		v.SetFloat(0.5)
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(v.Elem(), depth)
	case reflect.Slice:
		switch {
		case v.Type() == reflect.TypeFor[json.RawMessage]():
			v.SetBytes([]byte(`{"a":1}`))
		case v.Type().Elem() == reflect.TypeFor[Event]():
		default:
			v.Set(reflect.MakeSlice(v.Type(), 1, 1))
			fill(v.Index(0), depth+1)
		}
	case reflect.Map:
		v.Set(reflect.MakeMap(v.Type()))
		val := reflect.New(v.Type().Elem()).Elem()
		if val.Kind() == reflect.Interface {
			val.Set(reflect.ValueOf("free"))
		} else {
			fill(val, depth+1)
		}
		v.SetMapIndex(reflect.ValueOf("key"), val)
	case reflect.Struct:
		if v.Type() == reflect.TypeFor[time.Time]() {
			v.Set(reflect.ValueOf(time.UnixMilli(1795175251272).UTC()))
			return
		}
		for _, field := range v.Fields() {
			fill(field, depth+1)
		}
	}
}

func filled[T any]() T {
	var v T
	fill(reflect.ValueOf(&v).Elem(), 0)
	return v
}

func roundTrip[T any](t *testing.T) {
	t.Helper()
	want := filled[T]()
	b, err := json.Marshal(want)
	if err != nil {
		t.Fatal(err)
	}
	var got T
	if err := json.Unmarshal(b, &got); err != nil {
		t.Fatalf("%v\n%s", err, b)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%T changes in a round trip (-want +got):\n%s", want, diff)
	}
}

func TestRoundTripValues(t *testing.T) {
	roundTrip[Request](t)
	roundTrip[Requirements](t)
	roundTrip[Capabilities](t)
	roundTrip[Negotiation](t)
	roundTrip[Reason](t)
	roundTrip[Result](t)
	roundTrip[Trace](t)
	roundTrip[Continuation](t)
	roundTrip[ApprovalRequest](t)
	roundTrip[ResultError](t)
	roundTrip[Cost](t)
	roundTrip[Usage](t)
	roundTrip[Model](t)
	roundTrip[RetryPolicy](t)
	roundTrip[MCPServer](t)
	roundTrip[Tool](t)
	roundTrip[ToolCall](t)
	roundTrip[ToolResult](t)
	roundTrip[Decision](t)
	roundTrip[Attachment](t)
}

func TestRoundTripEveryEvent(t *testing.T) {
	types := EventTypes()
	if got, want := len(types), 67+6; got != want {
		t.Fatalf("%d event types, want %d: the 67 of the specification and 6 additions", got, want)
	}
	groups := map[string]int{}
	for _, typ := range types {
		groups[EventGroup(typ)]++
		body := reflect.New(reflect.TypeOf(ZeroBody(typ))).Elem()
		fill(body, 0)
		want := Event{Seq: 9, Time: time.UnixMilli(1795175251272).UTC(), Turn: 2, RunID: "01JD0000000000000000000000", Agent: "claude",
			Parent: "toolu_1", Origin: "hook", Raw: json.RawMessage(`{"n":1}`), Body: body.Interface().(Body)}
		b, err := json.Marshal(want)
		if err != nil {
			t.Fatalf("%s: %v", typ, err)
		}
		var got Event
		if err := json.Unmarshal(b, &got); err != nil {
			t.Fatalf("%s: %v\n%s", typ, err, b)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s changes in a round trip (-want +got):\n%s", typ, diff)
		}
		// No body field may hide a base field.
		var keys map[string]any
		if err := json.Unmarshal(b, &keys); err != nil {
			t.Fatal(err)
		}
		for _, k := range []string{"schemaVersion", "type", "runId", "agent", "timestamp", "seq", "turn", "parentToolCallId", "origin", "raw"} {
			if n := strings.Count(string(b), `"`+k+`":`); n != 1 && typ != "finished" {
				t.Errorf("%s: base field %q is written %d times in %s", typ, k, n, b)
			}
		}
	}
	want := map[string]int{"session": 5, "turn": 4, "text": 3, "thinking": 3, "tool": 5, "file": 5, "shell": 4, "mcp": 3, "subagent": 3,
		"plugin": 3, "skill": 3, "image": 2, "cost": 2, "interaction": 4, "limits": 4, "control": 7, "error": 5, "debug": 2, "drawbar": 6}
	if diff := cmp.Diff(want, groups); diff != "" {
		t.Errorf("groups (-want +got):\n%s", diff)
	}
}

func TestEventRefused(t *testing.T) {
	for _, tc := range []struct{ name, in, want string }{
		{"unknown type", `{"type":"nosuch"}`, "unknown event type"},
		{"unknown major", `{"schemaVersion":"2.0","type":"aborted"}`, "unsupported schema version"},
		{"wrong field type", `{"type":"text_delta","delta":7}`, "decode text_delta"},
		{"no object", `[]`, "cannot unmarshal"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var e Event
			if err := json.Unmarshal([]byte(tc.in), &e); err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("got %v, want an error with %q", err, tc.want)
			}
		})
	}
	if _, err := json.Marshal(Event{}); err == nil {
		t.Error("an event without a body was encoded")
	}
	b, err := json.Marshal(Event{Body: Aborted{}, Raw: json.RawMessage("not json")})
	if err != nil || !strings.Contains(string(b), `"raw":"not json"`) {
		t.Errorf("raw that is no JSON: %s, %v", b, err)
	}
}

func FuzzEvent(f *testing.F) {
	for _, typ := range EventTypes() {
		body := reflect.New(reflect.TypeOf(ZeroBody(typ))).Elem()
		fill(body, 0)
		b, _ := json.Marshal(Event{Seq: 1, Body: body.Interface().(Body)})
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		var e Event
		if json.Unmarshal(b, &e) != nil {
			return
		}
		again, err := json.Marshal(e)
		if err != nil {
			t.Fatalf("an event that was read cannot be written: %v", err)
		}
		var second Event
		if err := json.Unmarshal(again, &second); err != nil {
			t.Fatalf("an event that was written cannot be read: %v\n%s", err, again)
		}
	})
}
