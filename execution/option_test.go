package execution

import (
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/drawbar/drawbar/internal/base/deepcopy"
)

// TestOptionTable holds the table to the type and to itself.
func TestOptionTable(t *testing.T) {
	rows := map[string]int{}
	for _, o := range options {
		rows[o.Name]++
		f, ok := fields()[o.Name]
		if !ok {
			t.Errorf("%s: RunOptions has no such field", o.Name)
			continue
		}
		if (o.Flag == "") != (o.Usage == "") || o.Short != "" && o.Flag == "" {
			t.Errorf("%s: flag %q, short %q, usage %q", o.Name, o.Flag, o.Short, o.Usage)
		}
		if o.In(ReachProject) && !o.In(ReachUser) || o.Env != "" && !o.In(ReachUser) {
			t.Errorf("%s: what a project or a variable may state, the user's file may state too", o.Name)
		}
		if (o.Tight != "" || o.Never != "") && !o.In(ReachProject) {
			t.Errorf("%s: a project may not state it, tightened neither", o.Name)
		}
		if o.Env != "" && (o.Merged() || f.Type.Kind() == reflect.Slice || f.Type.Kind() == reflect.Bool) {
			t.Errorf("%s: no variable is read into a %s", o.Name, f.Type)
		}
		var words []string
		for same := range strings.FieldsSeq(o.Tight) {
			words = append(words, strings.Split(same, "|")...)
		}
		if f.Type.Kind() == reflect.String && o.Tight != "" {
			slices.Sort(words)
			if all := slices.Sorted(slices.Values(EnumValues()[f.Type.Name()])); !slices.Equal(words, all) || o.Never != "" && !slices.Contains(words, o.Never) {
				t.Errorf("%s: tight %q, never %q, values %q", o.Name, o.Tight, o.Never, all)
			}
		} else if o.Tight != "" && o.Tight != "less" {
			t.Errorf("%s: tight %q of a %s", o.Name, o.Tight, f.Type)
		}
		if o.Default != "" {
			var run RunOptions
			if err := json.Unmarshal([]byte(`{"`+o.Name+`":`+o.Default+`}`), &run); err != nil || run.Validate() != nil {
				t.Errorf("%s: default %s: %v, %v", o.Name, o.Default, err, run.Validate())
			}
		}
	}
	for name, f := range fields() {
		if rows[name] != 1 {
			t.Errorf("%s (%s) has %d rows in the table of options", f.Name, name, rows[name])
		}
	}
}

// full is a value of every option.
func full(t *testing.T) RunOptions {
	t.Helper()
	var fill func(v reflect.Value)
	fill = func(v reflect.Value) {
		switch v.Kind() {
		case reflect.Pointer:
			v.Set(reflect.New(v.Type().Elem()))
			fill(v.Elem())
		case reflect.Slice:
			v.Set(reflect.MakeSlice(v.Type(), 1, 1))
			fill(v.Index(0))
		case reflect.Map:
			v.Set(reflect.MakeMap(v.Type()))
			item := reflect.New(v.Type().Elem()).Elem()
			fill(item)
			v.SetMapIndex(reflect.ValueOf("K").Convert(v.Type().Key()), item)
		case reflect.Struct:
			for _, field := range v.Fields() {
				fill(field)
			}
		case reflect.Interface:
			v.Set(reflect.ValueOf("x"))
		case reflect.String:
			v.SetString("x")
		case reflect.Bool:
			v.SetBool(true)
		case reflect.Float64:
			v.SetFloat(1)
		case reflect.Uint8:
			v.SetUint('1')
		default:
			v.SetInt(1)
		}
	}
	var o RunOptions
	fill(reflect.ValueOf(&o).Elem())
	return o
}

// TestCloneSharesNothing changes everything that a copy refers to, and looks at the original.
func TestCloneSharesNothing(t *testing.T) {
	o := full(t)
	c := deepcopy.Of(o)
	if !reflect.DeepEqual(c, o) {
		t.Fatalf("got %+v, want %+v", c, o)
	}
	var shared func(at string, a, b reflect.Value)
	shared = func(at string, a, b reflect.Value) {
		switch a.Kind() {
		case reflect.Pointer, reflect.Slice, reflect.Map:
			if a.Pointer() == b.Pointer() {
				t.Errorf("%s is shared", at)
			}
			if a.Kind() == reflect.Pointer {
				shared(at, a.Elem(), b.Elem())
			}
			if a.Kind() == reflect.Slice && a.Len() > 0 {
				shared(at+"[0]", a.Index(0), b.Index(0))
			}
		case reflect.Struct:
			for i := range a.NumField() {
				shared(at+"."+a.Type().Field(i).Name, a.Field(i), b.Field(i))
			}
		}
	}
	shared("RunOptions", reflect.ValueOf(o), reflect.ValueOf(c))
}

func TestWithDefaults(t *testing.T) {
	d := full(t)
	for _, o := range options {
		var one RunOptions
		o.of(&one).Set(o.of(&d))
		if got := (RunOptions{}).WithDefaults(one); o.Stated(got) != o.In(ReachDefaults) || o.In(ReachDefaults) && !reflect.DeepEqual(got, one) {
			t.Errorf("%s: got %+v", o.Name, got)
		}
	}
	// What is stated stays; maps are merged; what contradicts the stated is not taken.
	zero, grace := 0.0, int64(9)
	stated := RunOptions{Model: "mine", Tags: []string{}, Env: map[string]string{"A": "1"}, SessionID: "s", NonInteractive: true, Temperature: &zero}
	defaults := RunOptions{Model: "x", Tags: []string{"t"}, Env: map[string]string{"A": "2", "B": "3"}, NoSession: true, Interactive: true, Temperature: new(float64),
		GracePeriodMs: &grace, Sandbox: SandboxReadOnly}
	got := stated.WithDefaults(defaults)
	want := RunOptions{Model: "mine", Tags: []string{}, Env: map[string]string{"A": "1", "B": "3"}, SessionID: "s", NonInteractive: true, Temperature: &zero,
		GracePeriodMs: &grace, Sandbox: SandboxReadOnly}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v\nwant %+v", got, want)
	}
	got.Env["C"], *got.GracePeriodMs = "x", 1
	if len(defaults.Env) != 2 || len(stated.Env) != 1 || grace != 9 {
		t.Error("what was filled in is shared with the defaults")
	}
}
