package source

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// many is a source of realistic size at its limit.
const many = 10_000

// writeMany writes many files of one object each.
func writeMany(t testing.TB) string {
	t.Helper()
	dir := t.TempDir()
	for i := range many {
		writeFile(t, filepath.Join(dir, fmt.Sprintf("team-%d", i%20), fmt.Sprintf("web-%d.yaml", i)), named(fmt.Sprintf("web-%d", i)))
	}
	return dir
}

// named is a WebService of that name.
func named(name string) string { return strings.Replace(service, "name: web", "name: "+name, 1) }

// writeFile writes a file, and the directories above it.
func writeFile(t testing.TB, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func BenchmarkParse(b *testing.B) {
	data := []byte(service + "  replicas: 3\n  tier: prod\n")
	b.ReportAllocs()
	for b.Loop() {
		Parse("web.yaml", data, options())
	}
}

func BenchmarkFirstScan(b *testing.B) {
	dir := writeMany(b)
	b.ReportAllocs()
	for b.Loop() {
		scanBench(b, NewScanner(Config{Path: dir, Options: options()}))
	}
}

func BenchmarkUnchangedScan(b *testing.B) {
	s := NewScanner(Config{Path: writeMany(b), Options: options()})
	scanBench(b, s)
	b.ReportAllocs()
	for b.Loop() {
		scanBench(b, s)
	}
}

func BenchmarkOneChange(b *testing.B) {
	dir := writeMany(b)
	s := NewScanner(Config{Path: dir, Options: options()})
	scanBench(b, s)
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		writeFile(b, filepath.Join(dir, "team-0", "web-0.yaml"), fmt.Sprintf("%s  replicas: %d\n", named("web-0"), i))
		scanBench(b, s)
	}
}

func scanBench(b *testing.B, s *Scanner) {
	b.Helper()
	snapshot, err := s.Scan(b.Context())
	if err != nil || len(snapshot.Objects) != many {
		b.Fatal(err, len(snapshot.Objects), snapshot.Problems)
	}
}
