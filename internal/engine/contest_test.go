package engine

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	v1 "labhub.io/webservice-controller/internal/api/v1"
	"labhub.io/webservice-controller/internal/report"
)

// TestContested: somebody who keeps undoing what we write is fought five times a
// minute and named; a person who edits a file often isn't anybody's enemy.
func TestContested(t *testing.T) {
	for _, c := range []struct {
		name string
		undo func(r *rig)
		step string
	}{
		{"the spec", func(r *rig) {
			r.cluster.edit(checkout, func(ws *v1.WebService) { ws.Spec.Image = "theirs" })
		}, "apply the WebService checkout"},
		{"the ConfigMap", func(r *rig) {
			r.cluster.set(func(f *fakeCluster) {
				child := f.world.children[checkout]
				child.Data, child.ResourceVersion = map[string]string{"image": "theirs"}, f.nextVersion()
				f.world.children[checkout] = child
			})
			r.Changed(checkout)
		}, "update the ConfigMap checkout"},
		{"the ConfigMap, by deleting it", func(r *rig) {
			r.cluster.set(func(f *fakeCluster) { delete(f.world.children, checkout) })
			r.Changed(checkout)
		}, "create the ConfigMap checkout"},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t)
				defer r.lead()()
				r.Take(snapshot(file(checkout, "a"), file(billing, "a")))
				synctest.Wait()
				r.cluster.taken()
				for range 60 {
					c.undo(r)
					pass(500 * time.Millisecond)
				}
				n := times(r.cluster.taken(), c.step)
				if n < 5 || n > 6 {
					t.Errorf("%d writes in half a minute", n)
				}
				it := r.item(checkout)
				if it.Action != report.ActionRequeue || !it.IsError || !strings.Contains(it.Error, "keeps changing") || it.AfterSeconds > 72 {
					t.Errorf("item %+v, requeue %+v", it, it.Requeue)
				}
				if got := r.cluster.ready(checkout); got != "False Contested" {
					t.Errorf("Ready is %s", got)
				}
				pass(2 * time.Minute) // nobody undoes it any more
				r.wantConverged()
				r.cluster.taken()
				pass(5 * time.Minute)
				r.wantSteps()
				r.Changed(checkout)
				synctest.Wait()
				r.Engine.mu.Lock()
				defer r.Engine.mu.Unlock()
				if r.items[checkout].contests != nil {
					t.Error("what is long over is still remembered")
				}
			})
		})
	}
}

// TestANewFileEndsTheWait: a contested field keeps what a file newly says from nobody.
func TestANewFileEndsTheWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		defer r.lead()()
		r.Take(snapshot(file(checkout, "a"), file(billing, "a")))
		for range 20 {
			synctest.Wait()
			r.cluster.edit(checkout, func(ws *v1.WebService) { ws.Spec.Image = "theirs" })
			pass(100 * time.Millisecond)
		}
		if it := r.item(checkout); !it.Failed() {
			t.Fatalf("item %+v", it)
		}
		r.cluster.taken()
		r.Take(snapshot(file(checkout, "b"), file(billing, "a")))
		synctest.Wait()
		r.wantSteps("apply the WebService checkout", "update the ConfigMap checkout", "write the status checkout")
		r.wantConverged()
	})
}

func times(steps []string, step string) int {
	return len(slices.DeleteFunc(steps, func(s string) bool { return s != step }))
}

// TestEditedOften: a person who edits a file, or an object that no file names, takes
// nothing back from anybody.
func TestEditedOften(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		defer r.lead()()
		for i := range 40 {
			r.Take(snapshot(file(checkout, fmt.Sprint("image-", i%2)), file(billing, "a")))
			pass(500 * time.Millisecond)
			r.wantConverged()
		}
		r.Take(snapshot(file(billing, "a")))
		for i := range 40 {
			r.cluster.edit(checkout, func(ws *v1.WebService) { ws.Spec.Image = fmt.Sprint("mine-", i) })
			pass(500 * time.Millisecond)
			r.wantConverged()
		}
	})
}

// TestAnEarlierObjectsFight: as long as nobody has told that an object is gone, the
// collector takes away each ConfigMap that is made for it. The next object of that
// name doesn't wait for the end of that.
func TestAnEarlierObjectsFight(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		defer r.lead()()
		r.Take(snapshot(file(checkout, "a"), file(billing, "a")))
		synctest.Wait()
		for range 6 {
			r.cluster.set(func(f *fakeCluster) { delete(f.world.children, checkout) })
			r.Changed(checkout)
			synctest.Wait()
		}
		if got := r.cluster.ready(checkout); got != "False Contested" {
			t.Fatalf("Ready is %s", got)
		}
		r.cluster.set(func(f *fakeCluster) { delete(f.world.live, checkout) })
		r.Changed(checkout)
		synctest.Wait()
		r.wantConverged()
		if got := r.cluster.ready(checkout); got != "True Reconciled" {
			t.Errorf("Ready is %s", got)
		}
	})
}
