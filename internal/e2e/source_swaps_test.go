package e2e

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"labhub.io/webservice-controller/internal/labtest"
	"labhub.io/webservice-controller/internal/report"
)

const (
	// quiet is the default of source.quiet.
	quiet = 100 * time.Millisecond
	// seen is how long a change at rest may take until it is on the server.
	seen = quiet + time.Second
	// onHintsAlone makes sure that no scan but one that a hint led to sees a change.
	onHintsAlone = "--source-scan-interval=1h"
)

// point makes a link lead elsewhere as volumes and git-sync do: by a rename.
func (l *lab) point(link, target string) {
	l.Helper()
	l.must(errors.Join(os.Symlink(target, link+".tmp"), os.Rename(link+".tmp", link)))
}

// TestAMountedVolumeSwitchesItsVersions: the kubelet puts a new version of a
// ConfigMap beside the old one, turns ..data to it and removes the old one.
func TestAMountedVolumeSwitchesItsVersions(t *testing.T) {
	l := newLab(t)
	version := func(n int) string { return fmt.Sprintf("..v%d", n) }
	l.write(map[string]string{version(0) + "/a.yaml": service("a", "nginx:0")})
	l.point(filepath.Join(l.source, "..data"), version(0))
	l.point(filepath.Join(l.source, "a.yaml"), "..data/a.yaml")
	d := l.run(onHintsAlone)
	d.converges(items("a"))
	var times []time.Duration
	for n := 1; n <= 5; n++ {
		l.write(map[string]string{version(n) + "/a.yaml": service("a", fmt.Sprintf("nginx:%d", n))})
		swapped := time.Now()
		l.point(filepath.Join(l.source, "..data"), version(n))
		l.must(os.RemoveAll(filepath.Join(l.source, version(n-1))))
		times = append(times, l.applied("a", fmt.Sprintf("nginx:%d", n), swapped, convergeLimit))
	}
	slowest(t, "from a switch to the server", times, seen)
	d.converges(items("a"), problems())
}

// gitSync keeps a checkout fresh as the sidecar of that name does: a repository in
// its root, a worktree for each commit, and a link to the last one.
type gitSync struct {
	*lab
	repository string // where it fetches from, bare
	root, link string
	commits    []string
	at         string // the commit that the link leads to
}

// everyTenth commit changes no YAML file.
const everyTenth = 10

// newGitSync makes a history in which commit n gives web the image nginx:n.
func (l *lab) newGitSync(commits int) *gitSync {
	l.Helper()
	versions := make([]map[string]string, commits)
	for n := range versions {
		versions[n] = map[string]string{"README": fmt.Sprintln(n)}
		if n%everyTenth != 0 || n == 0 {
			versions[n]["web.yaml"] = service("web", fmt.Sprintf("nginx:%d", n))
		}
	}
	versions[0]["same.yaml"] = service("same", "nginx:1.27")
	g := l.gitSync(filepath.Join(l.home, "sync"), "link", versions)
	l.source = g.link
	return g
}

// gitSync makes a history in which each commit changes some files: an empty text
// removes one.
func (l *lab) gitSync(root, link string, versions []map[string]string) *gitSync {
	l.Helper()
	g := &gitSync{lab: l, repository: filepath.Join(l.home, "repository.git"), root: root, link: filepath.Join(root, link)}
	l.environ = gitIdentity()
	upstream := filepath.Join(l.home, "upstream")
	l.git("init", "-q", upstream)
	for n, files := range versions {
		for name, text := range files {
			path := filepath.Join(upstream, name)
			if text == "" {
				l.must(os.Remove(path))
				continue
			}
			l.must(os.MkdirAll(filepath.Dir(path), 0o755))
			l.must(os.WriteFile(path, []byte(text), 0o644))
		}
		l.git("-C", upstream, "add", "--all")
		l.git("-C", upstream, "commit", "-q", "-m", fmt.Sprint(n))
	}
	l.git("clone", "-q", "--bare", upstream, g.repository)
	g.commits = strings.Fields(l.git("-C", g.repository, "rev-list", "--reverse", "HEAD"))
	l.git("init", "-q", "-b", "git-sync", root)
	return g
}

// sync has a commit pushed, fetches it and turns the link to it, and returns when.
// These are git-sync's own steps, in its order.
func (g *gitSync) sync(commit string) time.Time {
	g.Helper()
	g.git("-C", g.repository, "update-ref", "HEAD", commit)
	g.git("-C", g.root, "fetch", "-q", "file://"+g.repository, "HEAD", "--prune", "--no-auto-gc", "--depth", "1")
	g.git("-C", g.root, "reset", "-q", "--soft", commit)
	tree := filepath.Join(".worktrees", commit)
	path := filepath.Join(g.root, tree)
	g.git("-C", g.root, "worktree", "add", "-q", "--force", "--detach", path, commit, "--no-checkout")
	// Relative, so that it is right wherever another container has the volume.
	g.must(os.WriteFile(filepath.Join(path, ".git"), []byte("gitdir: ../../.git/worktrees/"+commit+"\n"), 0o644))
	g.git("-C", path, "reset", "-q", "--hard", commit, "--")
	swapped := time.Now()
	temporary := filepath.Join(g.root, "tmp-link")
	g.must(errors.Join(os.Symlink(tree, temporary), os.Rename(temporary, g.link)))
	if g.at != "" {
		g.must(os.RemoveAll(filepath.Join(g.root, ".worktrees", g.at)))
		g.git("-C", g.root, "worktree", "prune")
		g.git("-C", g.root, "reflog", "expire", "--expire-unreachable=all", "--all")
		g.git("-C", g.root, "gc", "-q", "--auto")
	}
	g.at = commit
	return swapped
}

func revision(commit string) fits {
	return func(r *report.Report) error {
		if r.Source.Revision != commit {
			return fmt.Errorf("revision %s, want %s", r.Source.Revision, commit)
		}
		return nil
	}
}

// TestGitSyncsSwaps turns the link 200 times under a running daemon.
func TestGitSyncsSwaps(t *testing.T) {
	l := newLab(t)
	g := l.newGitSync(201)
	g.sync(g.commits[0])
	d := l.run(onHintsAlone)
	d.converges(items("same", "web"), revision(g.commits[0]))
	same := l.states()["webservices/same"]
	var times []time.Duration
	for n, commit := range g.commits[1:] {
		n++
		if n%everyTenth == 0 {
			labtest.Eventually(t, convergeLimit, func() error { return l.done("web", fmt.Sprintf("nginx:%d", n-1)) })
		}
		before := l.states()
		swapped := g.sync(commit)
		if n%everyTenth == 0 {
			d.converges(revision(commit), problems())
			l.equal(before, l.states())
			continue
		}
		times = append(times, l.applied("web", fmt.Sprintf("nginx:%d", n), swapped, convergeLimit))
		if n%50 == 1 {
			d.converges(revision(commit), problems(), items("same", "web"))
		}
	}
	slowest(t, "from a swap to the server", times, seen)
	if now := l.states()["webservices/same"]; now != same {
		t.Errorf("what no commit changes was written\nbefore %s\nnow    %s", same, now)
	}
	d.converges(revision(g.commits[200]))
}

// TestGitResetsUnderARunningDaemon goes to and fro between two commits, each of
// which has 500 files: 450 names are in both, half of them with other content.
func TestGitResetsUnderARunningDaemon(t *testing.T) {
	const files, moved, resets = 500, 50, 50
	l := newLab(t)
	l.environ = gitIdentity()
	repository := l.source
	l.git("init", "-q", repository)
	name := func(n int) string { return fmt.Sprintf("web-%03d", n) }
	commit := func(from int, image string) string {
		for n := range files + moved {
			path := filepath.Join(repository, name(n)+".yaml")
			switch {
			case n < from || n >= from+files:
				l.must(os.RemoveAll(path))
			case n%2 == 0:
				l.must(os.WriteFile(path, []byte(service(name(n), image)), 0o644))
			default:
				l.must(os.WriteFile(path, []byte(service(name(n), "nginx:1.27")), 0o644))
			}
		}
		l.git("-C", repository, "add", "-A")
		l.git("-C", repository, "commit", "-q", "-m", image)
		return l.git("-C", repository, "rev-parse", "HEAD")
	}
	commits := []string{commit(0, "nginx:1"), commit(moved, "nginx:2")}
	reset := func(n int) { l.git("-C", repository, "reset", "-q", "--hard", commits[n%2]) }
	reset(0)
	d := l.run()
	d.converges(revision(commits[0]))
	before := l.uids()
	inBoth := map[string]bool{}
	for n := moved; n < files; n++ {
		inBoth[name(n)] = true
	}
	stop := l.watchReports(func(r *report.Report) error { return stillThere(r, inBoth) })
	for n := 1; n <= resets; n++ {
		paced(time.Duration(50+n%7*70)*time.Millisecond, func() { reset(n) })
		if n%10 == 0 {
			d.converges(revision(commits[n%2]), problems())
		}
	}
	reset(1)
	d.converges(revision(commits[1]), problems())
	t.Logf("%d different reports were looked at", stop())
	after := l.uids()
	for n := range files + moved {
		switch {
		case n >= moved && l.done(name(n), []string{"nginx:2", "nginx:1.27"}[n%2]) != nil:
			t.Error(l.done(name(n), []string{"nginx:2", "nginx:1.27"}[n%2]))
		case inBoth[name(n)] && before[name(n)] != after[name(n)]:
			t.Errorf("%s has another uid", name(n))
		}
	}
}

// uids has the uid of every WebService.
func (l *lab) uids() map[string]string {
	l.Helper()
	uids := map[string]string{}
	for object, state := range l.states() {
		if name, found := strings.CutPrefix(object, "webservices/"); found {
			uids[name] = strings.Fields(state)[1]
		}
	}
	return uids
}

// stillThere wants every one of some names to be in the report, with its file.
func stillThere(r *report.Report, names map[string]bool) error {
	found := 0
	for _, i := range r.Items {
		if !names[i.Name] {
			continue
		}
		if found++; i.Source == "" || i.Action == report.ActionDelete {
			return fmt.Errorf("cycle %d: %s, %s: %s", r.Cycle, i.Name, i.Action, i.Reason)
		}
	}
	if found != len(names) {
		return fmt.Errorf("cycle %d: %d objects, want %d", r.Cycle, found, len(names))
	}
	return nil
}

// watchReports looks at every report that it can catch until stop is called, which
// returns how many there were.
func (l *lab) watchReports(fit fits) (stop func() int) {
	l.Helper()
	var watching sync.WaitGroup
	end, reports := make(chan struct{}), 0
	watching.Go(func() {
		tick := time.NewTicker(10 * time.Millisecond)
		defer tick.Stop()
		var last os.FileInfo
		for {
			select {
			case <-end:
				return
			case <-tick.C:
			}
			info, err := os.Stat(filepath.Join(l.out, report.FileName))
			if err != nil || last != nil && os.SameFile(info, last) {
				continue
			}
			last = info
			r, err := l.report()
			if err == nil {
				err = fit(r)
			}
			if reports++; err != nil {
				l.Error(err)
				return
			}
		}
	})
	return func() int {
		close(end)
		watching.Wait()
		return reports
	}
}
