package walk

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	v1 "labhub.io/webservice-controller/internal/api/v1"
	"labhub.io/webservice-controller/internal/labtest"
	"labhub.io/webservice-controller/internal/plan"
	"labhub.io/webservice-controller/internal/report"
)

const (
	// convergeLimit is far more than convergence takes once nothing is in its way,
	// a namespace's deletion included.
	convergeLimit = time.Minute
	// mendPeriod is how long what was mended may take to be seen.
	mendPeriod = 500 * time.Millisecond
	// grace is for what a person did a moment before the report said converged.
	grace = 2 * time.Second
	// memory is how long the history reaches back.
	memory = time.Minute
)

// checkpoint takes all away that stands in the way of convergence, waits for it,
// and holds the cluster against the directory.
func (w *walk) checkpoint() {
	w.heal()
	w.controller.start()
	if w.chance(20) {
		w.standStill()
	}
	w.holdTrial()
	w.converge()
	labtest.Eventually(w, grace, w.check)
	if w.chance(10) {
		w.emptyWithApproval()
	}
	w.holdTrial()
}

// standStill removes something from a source that isn't fit to be believed, or that
// has lost much, and leaves it at that for longer than a judge gives the controller
// to know of it.
func (w *walk) standStill() {
	spoil := pick(w, []func(*walk) string{(*walk).breakSomething, (*walk).writeTwice, (*walk).loseDirectory, (*walk).removeMany})
	for _, step := range []func(*walk) string{spoil, (*walk).removeDocument, (*walk).removeDocument} {
		if did := step(w); did != "" {
			w.tell("%s", did)
		}
	}
	by := walkRules()
	w.tell("stand still")
	w.wait(by.lag + 2*by.after)
}

// converge mends, and answers what the controller asks, until the report says
// converged about a scan that was begun later.
func (w *walk) converge() {
	began := time.Now()
	w.mend()
	mended, looked, asked := time.Now(), time.Now(), ""
	labtest.Eventually(w, convergeLimit, func() error {
		if w.controller.ended() {
			w.Fatal("the daemon has ended by itself")
		}
		if time.Since(looked) > mendPeriod {
			looked = time.Now()
			if w.mend() {
				mended = time.Now()
			}
		}
		r, err := w.report()
		switch {
		case err != nil:
			return err
		case !r.Source.LastScan.After(mended) || r.Finished.IsZero():
			return fmt.Errorf("the last scan was at %s, what stands in the way was mended at %s", r.Source.LastScan.Format(clock), mended.Format(clock))
		case r.Converged:
			return nil
		case r.HeldDigest != "" && r.HeldDigest != asked:
			asked = r.HeldDigest
			w.answer(r)
			mended = time.Now()
		}
		return unconverged(r)
	})
	w.tell("converged: after %s", time.Since(began).Round(time.Millisecond))
}

func unconverged(r *report.Report) error {
	var open []string
	for _, i := range r.Items {
		if i.Action == report.ActionRequeue {
			open = append(open, fmt.Sprintf("%s/%s: %s %s", i.Namespace, i.Name, i.Reason, i.Error))
		}
	}
	for _, p := range r.Problems {
		open = append(open, fmt.Sprintf("%s:%d: %s", p.Path, p.Line, p.Message))
	}
	return fmt.Errorf("not converged: %s; %s", r.WaitingFor, strings.Join(open, "; "))
}

// answer says yes to held deletions, or brings the files back.
func (w *walk) answer(r *report.Report) {
	if w.chance(50) {
		w.tell("%s", w.approve(r))
		return
	}
	for _, name := range slices.Sorted(maps.Keys(w.attic)) {
		w.restore(name)
	}
	for _, held := range r.Held {
		key := plan.Key{Namespace: held.Namespace, Name: held.Name}
		if len(w.disk.find(key)) == 0 && w.chance(70) {
			w.must(w.disk.put(w.fileFor(key), file{docs: []*document{{key: key, image: w.image()}}}, true))
		}
	}
	w.tell("bring back: what was held")
}

// emptyWithApproval takes the whole directory away and has that approved.
func (w *walk) emptyWithApproval() {
	if !slices.ContainsFunc(slices.Collect(maps.Values(w.mirror.live(webservices()))), w.prunable) {
		return
	}
	w.must(w.disk.leadAway(rootEmpty))
	w.tell("empty: on purpose, and to be approved")
	asked := ""
	labtest.Eventually(w, convergeLimit, func() error {
		w.unblock()
		r, err := w.report()
		if err != nil {
			return err
		}
		if r.HeldDigest != "" && r.HeldDigest != asked {
			asked = r.HeldDigest
			w.tell("%s", w.approve(r))
		}
		for key, u := range w.mirror.live(webservices()) {
			if w.prunable(u) {
				return fmt.Errorf("%s is still there: %w", key, unconverged(r))
			}
		}
		return nil
	})
	w.must(w.disk.comeBack())
	w.tell("find: the directory is back")
}

// prunable are ours, and nothing keeps them.
func (w *walk) prunable(u *unstructured.Unstructured) bool {
	v := versionOf(webservices().Resource, u)
	return v.source == sourceName && v.owned && !v.kept && !v.suspended
}

// holdTrial judges what the controller has done by now.
func (w *walk) holdTrial() {
	w.Helper()
	now := time.Now()
	w.knowsAllVersions()
	for _, c := range append(w.history.judge(walkRules(), w.judged, now), w.history.strangersTouched()...) {
		w.Error(c.text)
	}
	w.history.mu.Lock()
	defer w.history.mu.Unlock()
	old := now.Add(-memory)
	for _, r := range w.history.requests {
		if r.deletesWebService() && !r.at.Before(w.judged) {
			w.counts["deletion judged"]++
		}
	}
	w.judged = now
	w.sent.count(slices.DeleteFunc(slices.Clone(w.history.requests), func(r *request) bool { return !r.at.Before(old) }))
	w.history.forget(old)
}

// knowsAllVersions waits until the watch has told of all that deletions speak of.
func (w *walk) knowsAllVersions() {
	w.Helper()
	deadline := time.Now().Add(grace)
	labtest.Eventually(w, 2*grace, func() error {
		w.history.mu.Lock()
		defer w.history.mu.Unlock()
		for _, r := range w.history.requests {
			if r.deletesWebService() && r.preconditionRV != "" && w.history.seen(r.key, r.preconditionRV) == nil && time.Now().Before(deadline) {
				return fmt.Errorf("version %s of %s isn't known yet", r.preconditionRV, r.key)
			}
		}
		return nil
	})
}

// mend takes away what would keep a good controller from converging, by one of
// the ways that people have, and says whether there was anything.
func (w *walk) mend() bool {
	changed := w.mendFiles()
	changed = w.unblock() || changed
	return w.mendObjects() || changed
}

func (w *walk) mendFiles() bool {
	changed := false
	if w.disk.gone {
		w.must(w.disk.comeBack())
		changed = true
	}
	for _, name := range w.broken() {
		w.mendFile(name)
		changed = true
	}
	seen := map[plan.Key]bool{}
	for _, p := range slices.Backward(w.disk.list()) {
		if seen[p.doc.key] {
			w.must(w.disk.put(p.file, w.disk.files[p.file].with(p.at, nil), true))
			changed = true
		}
		seen[p.doc.key] = true
	}
	for len(w.disk.list()) < 3 {
		w.newDocument()
		changed = true
	}
	return changed
}

// unblock takes the foreign finalizers off what is being deleted. The other source
// has no controller here, so that its objects are cleaned up by hand as well.
func (w *walk) unblock() bool {
	changed := false
	for _, u := range w.mirror.live(webservices()) {
		switch {
		case u.GetDeletionTimestamp() == nil:
			continue
		case isOthers(u):
			w.setFinalizers(u, []string{})
		case hasFinalizer(u, foreignFinalizer):
			w.dropFinalizer(u)
		default:
			continue
		}
		changed = true
	}
	return changed
}

// mendObjects ends conflicts between files and what others made.
func (w *walk) mendObjects() bool {
	changed := false
	live, children := w.mirror.live(webservices()), w.mirror.live(configmaps())
	names := w.disk.picture().usable
	keys := slices.SortedFunc(maps.Keys(names), compareKeys)
	for key := range live {
		if names[key] == nil {
			keys = append(keys, key)
		}
	}
	slices.SortFunc(keys, compareKeys)
	for _, key := range keys {
		u, doc := live[key], names[key]
		switch cm := children[childOf(key)]; {
		case u != nil && doc != nil && isOthers(u):
			w.endClaim(key)
		case cm != nil && isStrangers(cm) && (doc != nil || u != nil && !isOthers(u)):
			w.endNameConflict(key, doc != nil)
		case doc != nil && !w.canBeReady(doc, names, live):
			w.independent(key)
		case doc == nil && u != nil && !isOthers(u) && u.GetAnnotations()[v1.DependsOnAnnotation] != "":
			w.annotate(key, v1.DependsOnAnnotation, nil)
		default:
			continue
		}
		changed = true
	}
	return changed
}

func isOthers(u *unstructured.Unstructured) bool {
	source := u.GetLabels()[v1.SourceLabel]
	return source != "" && source != sourceName
}

// endClaim: a file names another source's object.
func (w *walk) endClaim(key plan.Key) {
	switch w.IntN(3) {
	case 0:
		w.patch(webservices(), key, metadata("labels", v1.SourceLabel, nil))
	case 1:
		w.delete(webservices(), key)
	default:
		w.takeOut(w.disk.find(key)[0])
	}
}

// endNameConflict: somebody else's ConfigMap has the child's name.
func (w *walk) endNameConflict(key plan.Key, named bool) {
	switch {
	case w.chance(60):
		w.delete(configmaps(), childOf(key))
	case named:
		w.takeOut(w.disk.find(key)[0])
	default:
		w.delete(webservices(), key)
	}
}

// canBeReady says whether what a document depends on is asked for and not
// suspended.
func (w *walk) canBeReady(doc *document, names map[plan.Key]*document, live map[plan.Key]*unstructured.Unstructured) bool {
	on := doc.annotations[v1.DependsOnAnnotation]
	if on == "" {
		return true
	}
	key := plan.Key{Namespace: doc.key.Namespace, Name: on}
	other, u := names[key], live[key]
	return other != nil && !other.suspended() && (u == nil || !isSuspended(u) && !isOthers(u))
}

func (w *walk) independent(key plan.Key) {
	p := w.disk.find(key)[0]
	w.must(w.disk.put(p.file, w.disk.files[p.file].with(p.at, p.doc.changed(func(d *document) {
		delete(d.annotations, v1.DependsOnAnnotation)
	})), true))
}
