package execution

import (
	"bytes"
	"encoding/json"
	"reflect"
	"testing"
	"time"
)

// bodyOf is a body of the type of zero in which every field is set, the plain texts to some in turn.
func bodyOf(zero Body, some ...string) Body {
	v := reflect.New(reflect.TypeOf(zero)).Elem()
	fill(v, 0)
	for i, n := 0, 0; i < v.NumField() && len(some) > 0; i++ {
		if f := v.Field(i); f.Kind() == reflect.String {
			f.SetString(some[n%len(some)])
			n++
		}
	}
	return v.Interface().(Body)
}

// reference is the event as encoding/json alone writes it.
func reference(t *testing.T, e Event) []byte {
	t.Helper()
	raw := e.Raw
	if len(raw) > 0 && !json.Valid(raw) {
		raw, _ = json.Marshal(string(raw))
	}
	head, err := json.Marshal(eventHead{SchemaVersion: SchemaVersion, Type: e.Body.Type(), RunID: e.RunID, Agent: e.Agent,
		Timestamp: e.Time.UnixMilli(), Seq: e.Seq, Turn: e.Turn, Parent: e.Parent, Origin: e.Origin, Raw: raw})
	if err != nil {
		t.Fatal(err)
	}
	body, err := json.Marshal(e.Body)
	if err != nil {
		t.Fatal(err)
	}
	if len(body) > 2 {
		head = append(append(head[:len(head)-1], ','), body[1:]...)
	}
	return head
}

func checkAppend(t *testing.T, e Event) {
	t.Helper()
	got, err := e.AppendJSON([]byte("before"))
	if want := append([]byte("before"), reference(t, e)...); err != nil || !bytes.Equal(got, want) {
		t.Errorf("%s: %v\n%s, want\n%s", e.Body.Type(), err, got, want)
	}
}

// TestAppendJSON holds every kind of event, empty and full, against encoding/json.
func TestAppendJSON(t *testing.T) {
	t.Parallel()
	for _, r := range bodyTable() {
		checkAppend(t, Event{Body: r.zero})
		checkAppend(t, Event{Seq: 1<<64 - 1, Time: time.UnixMilli(-1), Turn: 3, RunID: "r", Agent: "a", Parent: "p", Origin: "hook", Raw: []byte(` {"a": "<"} `), Body: bodyOf(r.zero)})
	}
	checkAppend(t, Event{Raw: []byte("no JSON"), Body: Paused{}})
}

// TestAppendQuoted holds every byte and some runes against encoding/json, at every place of a text that is read eight bytes at a time.
func TestAppendQuoted(t *testing.T) {
	t.Parallel()
	special := []string{"\u2027", "\u2028", "\u2029", "\u00e9", "\U0001F600", "\xed\xa0\x80"}
	for c := range 256 {
		special = append(special, string([]byte{byte(c)}))
	}
	const plain = "sixteen letters, and a few"
	for _, odd := range special {
		for at := range len(plain) {
			text := plain[:at] + odd + plain[at:]
			want, _ := json.Marshal(text)
			if got := appendQuoted(nil, text); !bytes.Equal(got, want) {
				t.Errorf("%q: %s, want %s", text, got, want)
			}
		}
	}
}

// FuzzAppendJSON holds texts of every kind, in every place of an event, against encoding/json.
func FuzzAppendJSON(f *testing.F) {
	f.Add("plain text, longer than one word", "\x00\x1f\x7f\"\\\b\f\n\r\t<>&", []byte("{}"))
	f.Add("eight by\x85tes of it", "\x80\x9f alone in a word", []byte(`[]`))
	f.Add("\u2028\u2029\u00e9\U0001F600", "\xff\xc3(\xed\xa0\x80", []byte(`{"a":`))
	f.Fuzz(func(t *testing.T, a, b string, raw []byte) {
		for _, r := range bodyTable() {
			checkAppend(t, Event{RunID: RunID(a), Agent: b, Parent: a, Origin: b, Raw: raw, Body: bodyOf(r.zero, a, b)})
		}
	})
}
