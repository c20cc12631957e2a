package deepcopy

import "testing"

type inner struct{ N *int }

type outer struct {
	List   []inner
	Map    map[string]int
	Nil    []int
	hidden []int
}

func TestOf(t *testing.T) {
	a := outer{List: []inner{{new(1)}}, Map: map[string]int{"a": 1}, hidden: []int{1}}
	b := Of(a)
	*b.List[0].N, b.Map["a"] = 2, 2
	if *a.List[0].N != 1 || a.Map["a"] != 1 {
		t.Errorf("the copy shares memory: %+v", a)
	}
	if b.Nil != nil || len(b.hidden) != 1 {
		t.Errorf("the copy differs: %+v", b)
	}
}
