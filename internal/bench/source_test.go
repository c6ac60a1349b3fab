package bench

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"testing"
	"time"

	"labhub.io/webservice-controller/internal/source"
)

// manyFiles is a source as large as it shall be able to be.
const manyFiles = 10_000

// cpu is what this process has used of the processor until now.
func cpu(t *testing.T) time.Duration {
	t.Helper()
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
		t.Fatal(err)
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}

// atMost measures something, and once more if it was too much: the machine may
// have other work.
func atMost(t *testing.T, what string, limit time.Duration, measure func() time.Duration) {
	t.Helper()
	for range 2 {
		took := measure()
		t.Logf("%s: %s of CPU, %s at most", what, took.Round(100*time.Microsecond), limit)
		if took <= limit {
			return
		}
	}
	t.Errorf("%s costs too much", what)
}

// writeManyFiles makes one WebService a file, in 20 directories.
func writeManyFiles(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for n := range manyFiles {
		writeService(t, dir, n, "nginx:1.27")
	}
	return dir
}

func writeService(t *testing.T, dir string, n int, image string) {
	t.Helper()
	team, name := filepath.Join(dir, fmt.Sprintf("team-%02d", n%20)), fmt.Sprintf("web-%05d", n)
	text := fmt.Sprintf("apiVersion: apps.labhub.io/v1\nkind: WebService\nmetadata:\n  name: %s\n  labels:\n    team: shop\n"+
		"spec:\n  image: %s\n  replicas: 3\n  tier: prod\n", name, image)
	if err := os.MkdirAll(team, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(team, name+".yaml"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func sourceConfig(dir string) source.Config {
	return source.Config{Path: dir, Options: source.Options{DefaultNamespace: "default"}, MaxWait: time.Second, ScanInterval: 30 * time.Second}
}

// TestCostOfScans has files at rest: what a scan of them costs.
func TestCostOfScans(t *testing.T) {
	dir := writeManyFiles(t)
	scan := func(s *source.Scanner) {
		t.Helper()
		snapshot, err := s.Scan(t.Context())
		if err != nil || len(snapshot.Objects) != manyFiles || len(snapshot.Problems) > 0 {
			t.Fatal(err, len(snapshot.Objects), snapshot.Problems)
		}
	}
	var s *source.Scanner
	atMost(t, "the first scan", 1500*time.Millisecond, func() time.Duration {
		before := cpu(t)
		s = source.NewScanner(sourceConfig(dir))
		scan(s)
		return cpu(t) - before
	})
	const times = 20
	atMost(t, "a scan of nothing new", 60*time.Millisecond, func() time.Duration {
		before := cpu(t)
		for range times {
			scan(s)
		}
		return (cpu(t) - before) / times
	})
	changes := 0
	atMost(t, "a scan of one change", 250*time.Millisecond, func() time.Duration {
		before := cpu(t)
		for range times {
			changes++
			writeService(t, dir, 7, fmt.Sprintf("nginx:%d", changes))
			scan(s)
		}
		return (cpu(t) - before) / times
	})
}

// TestCostOfAFileThatNeverRests has one file written again and again: what a second
// of that costs, whether the pauses are shorter than the quiet time or longer.
func TestCostOfAFileThatNeverRests(t *testing.T) {
	dir := writeManyFiles(t)
	for _, pause := range []time.Duration{30 * time.Millisecond, 150 * time.Millisecond, 400 * time.Millisecond} {
		atMost(t, fmt.Sprintf("a second of writing each %s", pause), 250*time.Millisecond, func() time.Duration {
			const seconds = 5
			cfg := sourceConfig(dir)
			cfg.Quiet = 100 * time.Millisecond
			ctx, cancel := context.WithCancel(t.Context())
			var running, begun sync.WaitGroup
			begun.Add(1)
			once := sync.OnceFunc(begun.Done)
			scans := 0
			running.Go(func() {
				if err := source.New(cfg).Run(ctx, func(*source.Snapshot) { scans++; once() }); err != nil {
					t.Error(err)
				}
			})
			begun.Wait()
			before := cpu(t)
			tick := time.NewTicker(pause)
			defer tick.Stop()
			for start, n := time.Now(), 0; time.Since(start) < seconds*time.Second; n++ {
				writeService(t, dir, 7, fmt.Sprintf("nginx:%d", n))
				<-tick.C
			}
			took := cpu(t) - before
			cancel()
			running.Wait()
			t.Logf("%d snapshots", scans)
			return took / seconds
		})
	}
}
