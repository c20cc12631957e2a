package adaptertest

import "testing"

func (s SessionSubject) badFiles(t *testing.T, home string) {}
