package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"labhub.io/webservice-controller/internal/report"
)

// What names an object may move about in the source as it likes: the object is
// neither deleted nor made again, nor even written.
func TestWhatMovesInTheSourceIsntTouched(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	at := func(path string) string { return filepath.Join(l.source, path) }
	l.writeServices("nginx:1.27", "a", "b", "c", "d")
	l.write(map[string]string{"team/e.yaml": service("e", "nginx:1.27"), "both.yaml": service("f", "nginx:1.27") + "---\n" + service("g", "nginx:1.27")})
	d := l.prunes()
	all := []string{"a", "b", "c", "d", "e", "f", "g"}
	d.converges(items(all...))
	before, mark := l.states(), l.mark()
	for _, move := range []struct {
		what, file, object string
		do                 func()
	}{
		{"a file into a folder, under another name", "sub/x.yaml:1", "a", func() {
			l.must(os.Mkdir(at("sub"), 0o755))
			l.must(os.Rename(at("a.yaml"), at("sub/x.yaml")))
		}},
		{"a document from file to file", "c.yaml:9", "b", func() {
			l.write(map[string]string{"c.yaml": service("c", "nginx:1.27") + "---\n" + service("b", "nginx:1.27")})
			l.withdraw("b")
		}},
		{"a document, first out and then in", "d.yaml:9", "g", func() {
			l.write(map[string]string{"both.yaml": service("f", "nginx:1.27")})
			l.write(map[string]string{"d.yaml": service("d", "nginx:1.27") + "---\n" + service("g", "nginx:1.27")})
		}},
		{"a folder renamed", "crew/e.yaml:1", "e", func() { l.must(os.Rename(at("team"), at("crew"))) }},
		{"everything below one more folder", "deep/c.yaml:1", "c", func() {
			l.must(os.Mkdir(at("deep"), 0o755))
			for _, name := range []string{"c.yaml", "d.yaml", "sub", "crew", "both.yaml"} {
				l.must(os.Rename(at(name), at("deep/"+name)))
			}
		}},
	} {
		move.do()
		d.converges(items(all...), item(move.object, func(i report.Item) bool { return i.Source == move.file }))
		d.scanned(3, converged, noWrites, items(all...))
		l.equal(before, l.states())
		if t.Failed() {
			t.Fatal(move.what)
		}
	}
	l.wantUntouched(mark)
}

// The watched directory itself is a link that is turned to a copy, as git-sync
// does it, or is renamed away with another put in its place.
func TestTheWatchedDirectoryMayBeSwapped(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	all := numbered("web", 5)
	l.writeServices("nginx:1.27", all...)
	one, two := filepath.Join(l.home, "one"), filepath.Join(l.home, "two")
	l.must(os.Rename(l.source, one))
	l.point(l.source, "one")
	d := l.prunes()
	r := d.converges(items(all...))
	before, mark := l.states(), l.mark()
	l.must(os.CopyFS(two, os.DirFS(one)))
	l.point(l.source, "two")
	l.must(os.RemoveAll(one))
	d.scanned(3, after(r.Cycle), converged, noWrites, items(all...))

	// A directory in the link's place, and that one replaced by another.
	l.must(os.Remove(l.source))
	l.must(os.Rename(two, l.source))
	d.scanned(3, converged, noWrites, items(all...))
	l.must(os.CopyFS(two, os.DirFS(l.source)))
	l.must(os.Rename(l.source, one))
	l.must(os.Rename(two, l.source))
	d.scanned(3, converged, noWrites, items(all...))
	l.equal(before, l.states())
	l.wantUntouched(mark)
	if w := strings.TrimSpace(d.warnings()); w != "" {
		t.Logf("warnings: %s", w)
	}
}

// An object that two files name counts in neither, and is there in both: taking
// it out of one of them is no deletion.
func TestAnObjectOfTwoFilesStaysWhenOneIsRemoved(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.writeServices("nginx:1.27", "checkout", "billing")
	d := l.prunes()
	d.converges(items("billing", "checkout"))
	before, mark := l.states(), l.mark()
	for _, image := range []string{"nginx:1.28", "nginx:1.27"} {
		l.write(map[string]string{"copy.yaml": service("checkout", image)})
		r := d.scanned(2, unconverged, noWrites, problems("checkout.yaml#1:1:1 metadata.name", "copy.yaml#1:1:1 metadata.name"))
		for i, other := range []string{"copy.yaml:1", "checkout.yaml:1"} {
			if err := says(r.Problems[i].Message, other); err != nil {
				t.Error(err)
			}
		}
	}
	d.scanned(5, unconverged, noWrites)
	l.equal(before, l.states())
	l.write(map[string]string{"copy.yaml": service("checkout", "nginx:1.28")})
	l.withdraw("checkout")
	d.converges(func(*report.Report) error { return l.done("checkout", "nginx:1.28") })
	d.scanned(3, converged)
	l.wantUntouched(mark)
}
