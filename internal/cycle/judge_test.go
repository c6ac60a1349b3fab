package cycle

import "testing"

// TestJudge goes from what a person should look at first to what concerns them
// least. Each row has everything that is amiss in the rows below it as well.
func TestJudge(t *testing.T) {
	t.Parallel()
	converged := Facts{Settled: true, Known: true}
	behind := converged
	behind.Settled = false
	busy := behind
	busy.Busy = 1
	waiting := busy
	waiting.Waiting, waiting.First = 2, "crd-lab/checkout: the namespace is being deleted"
	blocked := waiting
	blocked.Blocked = 2
	held := blocked
	held.Held, held.Hold = 1, "crd-lab/old: no file; held: it is all (approve 1234)"
	problems := held
	problems.Problems, problems.Problem = 3, "a.yaml:1: not YAML"
	failing := problems
	failing.Failing, failing.First = 1, "crd-lab/billing: refused"
	faulty := failing
	faulty.Source = "the directory is empty"
	empty := faulty
	empty.Approvable = true
	unread := faulty
	unread.Known, unread.Source = false, ""
	away := unread
	away.Cluster = "the API server can't be reached"
	standby := away
	standby.Standby = "pod-a_1"

	for _, c := range []struct {
		name  string
		facts Facts
		want  string
	}{
		{"another process leads", standby, "standing by: the lease is held by pod-a_1"},
		{"the cluster is away", away, "the API server can't be reached"},
		{"the source hasn't been read", unread, "the source to be read"},
		{"the source as a whole is at fault", faulty, "the directory is empty"},
		{"and what is held by that can be approved", empty, "the directory is empty; 1 held deletion: crd-lab/old: no file; held: it is all (approve 1234)"},
		{"an object fails", failing, "1 failing object: crd-lab/billing: refused"},
		{"a file can't be used", problems, "3 problems in the source to be mended: a.yaml:1: not YAML"},
		{"a deletion is held", held, "1 held deletion: crd-lab/old: no file; held: it is all (approve 1234)"},
		{"objects wait for that", blocked, "2 objects to be created once no deletion is held"},
		{"an object waits", waiting, "2 waiting objects: crd-lab/checkout: the namespace is being deleted"},
		{"a key can act", busy, "1 object to be reconciled"},
		{"the watch is behind", behind, "the watch to catch up with our own writes"},
		{"all is as it should be", converged, ""},
	} {
		got, waitingFor := Judge(c.facts)
		if got != (c.want == "") || waitingFor != c.want {
			t.Errorf("%s: converged %t, waiting for %q, want %q", c.name, got, waitingFor, c.want)
		}
	}
}

// TestJudgeAlone: each thing that is amiss is enough to prevent convergence.
func TestJudgeAlone(t *testing.T) {
	t.Parallel()
	for name, spoil := range map[string]func(*Facts){
		"standby": func(f *Facts) { f.Standby = "x" },
		"cluster": func(f *Facts) { f.Cluster = "x" },
		"unread":  func(f *Facts) { f.Known = false },
		"source":  func(f *Facts) { f.Source = "x" },
		"busy":    func(f *Facts) { f.Settled, f.Busy = false, 1 },
		"failing": func(f *Facts) { f.Failing = 1 },
		"problem": func(f *Facts) { f.Problems = 1 },
		"held":    func(f *Facts) { f.Held = 1 },
		"blocked": func(f *Facts) { f.Blocked = 1 },
		"waiting": func(f *Facts) { f.Waiting = 1 },
		"behind":  func(f *Facts) { f.Settled = false },
	} {
		f := Facts{Settled: true, Known: true}
		spoil(&f)
		if converged, waitingFor := Judge(f); converged || waitingFor == "" {
			t.Errorf("%s: converged %t, waiting for %q", name, converged, waitingFor)
		}
	}
}
