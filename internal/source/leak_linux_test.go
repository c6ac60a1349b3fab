package source

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"testing"
)

// holdings are what a process may leak.
type holdings struct{ goroutines, descriptors, watches, kilobytes int }

func (h holdings) within(other holdings) bool {
	return h.goroutines <= other.goroutines && h.descriptors <= other.descriptors &&
		h.watches <= other.watches && h.kilobytes <= other.kilobytes
}

// held counts what this process holds now.
func held(t *testing.T) holdings {
	t.Helper()
	var memory runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&memory)
	h := holdings{goroutines: runtime.NumGoroutine(), kilobytes: int(memory.HeapAlloc >> 10)}
	descriptors, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	h.descriptors = len(descriptors)
	for _, d := range descriptors {
		info, err := os.ReadFile(filepath.Join("/proc/self/fdinfo", d.Name()))
		if err == nil { // the one by which the list was read is gone
			h.watches += bytes.Count(info, []byte("inotify wd:"))
		}
	}
	return h
}

// TestNothingLeaks turns the link to the source 1,000 times, removes every old
// tree, moves directories about and saves files, under a source that runs.
func TestNothingLeaks(t *testing.T) {
	dir := writeTree(t, map[string]string{"v0/sub/deep/a.yaml": service + "  replicas: 0\n"})
	link := filepath.Join(dir, "link")
	point := func(n int) {
		t.Helper()
		temporary := link + ".new"
		if err := errors.Join(os.Symlink(fmt.Sprintf("v%d", n), temporary), os.Rename(temporary, link)); err != nil {
			t.Fatal(err)
		}
	}
	point(0)
	snapshots := runQuickly(t, link)
	replicas := func(n int) func(*Snapshot) bool {
		return func(s *Snapshot) bool {
			o := s.Objects[key("shop/web")]
			return len(s.Problems) == 0 && o.Replicas != nil && int(*o.Replicas) == n
		}
	}
	until(t, snapshots, "the start", replicas(0))
	var warm holdings
	for n := 1; n <= 1000; n++ {
		version := filepath.Join(dir, fmt.Sprintf("v%d", n))
		writeFile(t, filepath.Join(version, "sub", "deep", "a.yaml"), fmt.Sprintf("%s  replicas: %d\n", service, n))
		point(n)
		if err := os.RemoveAll(filepath.Join(dir, fmt.Sprintf("v%d", n-1))); err != nil {
			t.Fatal(err)
		}
		until(t, snapshots, fmt.Sprintf("swap %d", n), replicas(n))
		if n%5 == 0 {
			writeFile(t, filepath.Join(version, "sub", "deep", "a.yaml"), fmt.Sprintf("%s  replicas: %d\n", service, 5000+n))
			until(t, snapshots, fmt.Sprintf("save %d", n), replicas(5000+n))
			if err := os.Rename(filepath.Join(version, "sub"), filepath.Join(version, "moved")); err != nil {
				t.Fatal(err)
			}
			writeFile(t, filepath.Join(version, "moved", "deep", "a.yaml"), fmt.Sprintf("%s  replicas: %d\n", service, 7000+n))
			until(t, snapshots, fmt.Sprintf("move %d", n), replicas(7000+n))
		}
		if n == 50 {
			warm = held(t)
		}
	}
	// What is in flight now, such as a directory that is listed, was so then as well
	// or not: what leaks grows by a hundred at least.
	slack := holdings{warm.goroutines + 5, warm.descriptors + 5, warm.watches + 10, warm.kilobytes + 2000}
	if now := held(t); !now.within(slack) {
		t.Errorf("after 1,000 swaps %+v, after 50 %+v", now, warm)
	} else {
		t.Logf("after 50 swaps %+v, after 1,000 %+v", warm, now)
	}
}
