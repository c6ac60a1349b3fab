package source

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// git runs a git command in a directory, and returns what it printed.
func git(t *testing.T, dir string, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "git", args...)
	cmd.Dir = dir
	cmd.Env = []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "GIT_CONFIG_NOSYSTEM=1",
		"GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@example.com", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@example.com",
	}
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Run(); err != nil {
		t.Fatalf("git %v: %v\n%s", args, err, out.String())
	}
	return strings.TrimSpace(out.String())
}

// commitAll commits a directory as it is, and returns the commit.
func commitAll(t *testing.T, dir string) string {
	t.Helper()
	git(t, dir, "add", "-A")
	git(t, dir, "commit", "-q", "-m", "edit")
	return git(t, dir, "rev-parse", "HEAD")
}

// TestTheRootOfGitSync is named in place of the link in it: the files are there as
// often as there are worktrees.
func TestTheRootOfGitSync(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := writeTree(t, map[string]string{
			".git/HEAD": commitA, ".worktrees/" + commitA + "/a.yaml": named("a"), ".worktrees/" + commitA + "/.git": "gitdir: ../../.git\n",
		})
		if err := os.Symlink(".worktrees/"+commitA, filepath.Join(dir, "link")); err != nil {
			t.Fatal(err)
		}
		s := scan(t, NewScanner(config(dir)))
		const want = "link: is a link to a directory, which isn't followed: use the link itself as source.path, or put the directory in its place"
		if len(s.Objects) > 0 || texts(s.Problems) != want || s.Err != nil {
			t.Errorf("objects: %s, problems: %s, error: %v", keysOf(s.Objects), texts(s.Problems), s.Err)
		}
		if s := scan(t, NewScanner(config(filepath.Join(dir, "link")))); keysOf(s.Objects) != "shop/a" || len(s.Problems) > 0 {
			t.Errorf("by the link: %s, problems: %s", keysOf(s.Objects), texts(s.Problems))
		}
	})
}

// TestALinkThatComesBeforeItsTarget: the problem goes with its cause.
func TestALinkThatComesBeforeItsTarget(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := writeTree(t, map[string]string{"a.yaml": named("a")})
		if err := os.Symlink("..data/b.yaml", filepath.Join(dir, "b.yaml")); err != nil {
			t.Fatal(err)
		}
		s := NewScanner(config(dir))
		if got := scan(t, s); keysOf(got.Objects) != "shop/a" || texts(got.Problems) != "b.yaml: is a link to something that doesn't exist: mend it, or remove it" {
			t.Errorf("objects: %s, problems: %s", keysOf(got.Objects), texts(got.Problems))
		}
		pass(500 * time.Millisecond)
		writeFile(t, filepath.Join(dir, "..data", "b.yaml"), named("b"))
		if got := scan(t, s); keysOf(got.Objects) != "shop/a shop/b" || len(got.Problems) > 0 {
			t.Errorf("objects: %s, problems: %s", keysOf(got.Objects), texts(got.Problems))
		}
	})
}

// TestGitsOwnWork in a clone that is the source changes nothing that is said, and
// nothing in .git is watched.
func TestGitsOwnWork(t *testing.T) {
	upstream := writeTree(t, map[string]string{"a.yaml": named("a"), "sub/b.yaml": named("b")})
	git(t, upstream, "init", "-q")
	commitAll(t, upstream)
	dir := filepath.Join(t.TempDir(), "clone")
	git(t, upstream, "clone", "-q", upstream, dir)
	snapshots := run(t, dir)
	until(t, snapshots, "the start", holding("shop/a shop/b"))
	silence(snapshots)

	writeFile(t, filepath.Join(upstream, "c.yaml"), named("c"))
	commitAll(t, upstream)
	git(t, dir, "fetch", "-q")
	git(t, dir, "gc", "-q")
	if came := silence(snapshots); came > 0 {
		t.Errorf("fetch and gc led to %d scans", came)
	}
	writeFile(t, filepath.Join(dir, "README"), "x")
	commit := commitAll(t, dir)
	s := scan(t, NewScanner(config(dir)))
	if keysOf(s.Objects) != "shop/a shop/b" || s.Revision != commit {
		t.Errorf("objects: %s, revision %s, want %s", keysOf(s.Objects), s.Revision, commit)
	}
	scanner := NewScanner(config(dir))
	scan(t, scanner)
	for _, d := range scanner.directories() {
		if strings.Contains(d.Path, ".git") {
			t.Errorf("%s is watched", d.Path)
		}
	}
	git(t, dir, "pull", "-q", "--rebase")
	until(t, snapshots, "what was pulled", holding("shop/a shop/b shop/c"))
}

// TestGitResetLosesNothing goes to and fro between two commits of 500 files. Every
// snapshot must have what is in both, and be one of the two where it is at rest.
func TestGitResetLosesNothing(t *testing.T) {
	const files, moved, resets = 500, 50, 50
	dir := writeTree(t, nil)
	git(t, dir, "init", "-q")
	name := func(n int) string { return fmt.Sprintf("web-%03d", n) }
	commit := func(from int, tier string) string {
		for n := range files + moved {
			path := filepath.Join(dir, name(n)+".yaml")
			if n < from || n >= from+files {
				_ = os.Remove(path) // it may not be there
				continue
			}
			writeFile(t, path, named(name(n))+"  tier: "+tier+"\n")
		}
		return commitAll(t, dir)
	}
	commits := []string{commit(0, "one"), commit(moved, "two")}
	cfg := config(dir)
	cfg.Quiet, cfg.MaxWait = 20*time.Millisecond, 200*time.Millisecond
	snapshots := runAs(t, cfg)
	whole := func(s *Snapshot) {
		t.Helper()
		for n := moved; n < files; n++ {
			if _, there := s.Objects[key("shop/"+name(n))]; !there {
				t.Fatalf("%s isn't there: %s", name(n), texts(s.Problems))
			}
		}
		if len(s.Problems) > 0 || !s.Complete {
			t.Fatalf("problems: %s, complete: %v", texts(s.Problems), s.Complete)
		}
		tier := map[string]string{commits[0]: "one", commits[1]: "two"}[s.Revision]
		if len(s.Unsettled) == 0 && (len(s.Objects) != files || *s.Objects[key("shop/"+name(100))].Tier != tier) {
			t.Fatalf("%d objects, tier %s, at revision %q", len(s.Objects), *s.Objects[key("shop/"+name(100))].Tier, s.Revision)
		}
	}
	looked := 0
	for n := range resets {
		git(t, dir, "reset", "-q", "--hard", commits[n%2])
		if n%3 == 0 {
			until(t, snapshots, "a reset", func(s *Snapshot) bool {
				whole(s)
				looked++
				return s.Revision == commits[n%2] && *s.Objects[key("shop/"+name(100))].Tier == []string{"one", "two"}[n%2]
			})
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), deadline)
	defer cancel()
	for last := (*Snapshot)(nil); last == nil || last.Revision != commits[1] || len(last.Unsettled) > 0 || *last.Objects[key("shop/"+name(100))].Tier != "two"; looked++ {
		select {
		case last = <-snapshots:
			whole(last)
		case <-ctx.Done():
			t.Fatal("the last commit isn't seen")
		}
	}
	t.Logf("%d snapshots", looked)
}
