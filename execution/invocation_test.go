package execution

import "testing"

func TestInvocation(t *testing.T) {
	t.Parallel()
	for text, want := range map[Invocation]Target{
		"ssh:build1": {TargetSSH, "build1", ""}, "ssh:ann@build1:/srv/my app": {TargetSSH, "ann@build1", "/srv/my app"}, "docker:ghcr.io:5000/agent:1.2": {TargetDocker, "ghcr.io:5000/agent:1.2", ""},
		"kubernetes:agents/pod-1:/work/": {TargetKubernetes, "agents/pod-1", "/work"}, "kubernetes:pod-1": {TargetKubernetes, "pod-1", ""},
	} {
		if got, err := text.Target(); err != nil || got != want {
			t.Errorf("%s: %+v %v", text, got, err)
		}
	}
	for _, text := range []Invocation{"ssh", "ssh:", "ssh:-oProxyCommand=x", "ssh:a b", "ssh:a;b", "ssh:$(x)", "ssh:h:dir", "ssh:h:", "vm:x", "docker:", "docker:-v", "kubernetes:p:dir", "kubernetes:-n"} {
		if got, err := text.Target(); err == nil {
			t.Errorf("%q is %+v", text, got)
		}
	}
}

// TestWorkDir: the agent works where its place says, else where the caller does.
func TestWorkDir(t *testing.T) {
	t.Parallel()
	for text, want := range map[Invocation]string{"ssh:h:/srv": "/srv", "ssh:h": "/home", "docker:i": Workspace, "kubernetes:p": "/home", "": "/home", "local": "/home"} {
		target, err := text.Target()
		if err != nil || target.WorkDir("/home") != want || text.Elsewhere() != (target != Target{}) {
			t.Errorf("%s: %+v %v", text, target, err)
		}
	}
}
