package e2e

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"labhub.io/webservice-controller/internal/labtest"
	"labhub.io/webservice-controller/internal/report"
)

// The pod as it is printed, with git-sync's steps beside it: what its arguments say
// and what the controller's variables say fit together, and each commit is read as
// one change.
func TestThePodFollowsGitSync(t *testing.T) {
	t.Parallel()
	for name, directory := range map[string]string{"a whole repository": ".", "a directory of it": "desired"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := newLab(t)
			args := []string{onHintsAlone, "--reconcile-unlabelled=false", "--source-namespace=" + l.namespace}
			if directory != "." {
				args = append(args, "--source="+directory)
			}
			i := l.install(everything, args...)
			g := i.sidecar(directory)
			d := i.boot()
			d.reports(convergeLimit, unconverged, waitsFor("doesn't exist")) // until it is cloned

			g.sync(g.commits[0])
			d.converges(items("a", "b", "c"), revision(g.commits[0]))
			before := i.uids()
			g.sync(g.commits[1])
			d.converges(revision(g.commits[1]), imaged(i.lab, "a", "nginx:2"))

			// A container that is started anew finds the pod's volumes as they were.
			d.kill()
			d = i.boot()
			d.converges(revision(g.commits[1]))
			if log := d.stderr.String(); strings.Contains(log, "standing by") {
				t.Errorf("it waits for its own Lease: %s", log)
			}

			g.sync(g.commits[2])
			i.keepsWhatIsBroken(d, g.commits[2])

			g.sync(g.commits[3])
			labtest.Eventually(t, convergeLimit, func() error { return i.gone("c") })
			d.converges(revision(g.commits[3]), problems(), imaged(i.lab, "b", "nginx:2"))

			rest := i.states()
			g.sync(g.commits[4])
			d.converges(revision(g.commits[4]))
			i.equal(rest, i.states())
			for name, uid := range i.uids() {
				if before[name] != uid {
					t.Errorf("%s was made anew", name)
				}
			}
		})
	}
}

// sidecar is git-sync as its container's arguments have it. Of its commits the third
// breaks one file, changes another and removes one, the fourth mends the broken one,
// and the fifth changes none.
func (i *installation) sidecar(directory string) *gitSync {
	i.Helper()
	flags := map[string]string{}
	for _, arg := range i.container("git-sync").Args {
		name, value, _ := strings.Cut(arg, "=")
		flags[name] = value
	}
	file := func(name string) string { return filepath.Join(directory, name+".yaml") }
	git := *i.lab
	return git.gitSync(i.local(flags["--root"]), flags["--link"], []map[string]string{
		{file("a"): service("a", "nginx:1"), file("b"): service("b", "nginx:1"), file("c"): service("c", "nginx:1")},
		{file("a"): service("a", "nginx:2")},
		{file("a"): service("a", "nginx:3"), file("b"): service("b", "1.20"), file("c"): ""},
		{file("b"): service("b", "nginx:2")},
		{"README.md": "nothing else"},
	})
}

// keepsWhatIsBroken: a commit with a broken file changes what it can, leaves alone
// what the file names, and deletes nothing.
func (i *installation) keepsWhatIsBroken(d *daemon, commit string) {
	i.Helper()
	before := i.states()
	d.reports(convergeLimit, revision(commit), unconverged, imaged(i.lab, "a", "nginx:3"), func(r *report.Report) error {
		if len(r.Problems) != 1 || !strings.HasSuffix(r.Problems[0].Path, "b.yaml") {
			return fmt.Errorf("problems %+v", r.Problems)
		}
		if len(r.Held) != 1 || r.Held[0].Name != "c" || r.HeldDigest != "" {
			return fmt.Errorf("held %+v, digest %q", r.Held, r.HeldDigest)
		}
		return nil
	})
	after := i.states()
	for _, object := range []string{"webservices/b", "configmaps/b-desired", "webservices/c", "configmaps/c-desired"} {
		if before[object] != after[object] {
			i.Errorf("%s was written\nbefore %s\nafter  %s", object, before[object], after[object])
		}
	}
}

// imaged is true once an object is all that it should be, with that image.
func imaged(l *lab, name, image string) fits {
	return func(*report.Report) error { return l.done(name, image) }
}
