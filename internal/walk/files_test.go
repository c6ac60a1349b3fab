package walk

import (
	"fmt"
	"maps"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	v1 "labhub.io/webservice-controller/internal/api/v1"
	"labhub.io/webservice-controller/internal/plan"
)

func fileSteps() []weighted {
	return []weighted{
		{12, (*walk).newDocument}, {16, (*walk).editDocument}, {7, (*walk).removeDocument},
		{5, (*walk).moveDocument}, {5, (*walk).moveFile}, {2, (*walk).renameFolder}, {2, (*walk).changeNamespace},
		{5, (*walk).breakSomething}, {6, (*walk).mendSomething}, {2, (*walk).writeTwice},
		{2, (*walk).removeMany}, {5, (*walk).bringBack},
		{2, (*walk).loseDirectory}, {30, (*walk).findDirectory}, {3, (*walk).swapDirectory},
	}
}

// newKey is a name that no file has; false where all are taken.
func (w *walk) newKey() (plan.Key, bool) {
	for range 10 {
		if key := w.anyKey(); len(w.disk.find(key)) == 0 {
			return key, true
		}
	}
	return plan.Key{}, false
}

func (w *walk) newDocument() string {
	key, ok := w.newKey()
	if !ok || w.disk.gone || len(w.disk.list()) >= 20 {
		return ""
	}
	doc := &document{key: key, bare: key.Namespace == walkNamespaces()[0] && w.chance(50), image: w.image()}
	for range w.IntN(4) {
		doc = doc.changed(w.anyChange(doc))
	}
	name := w.fileFor(key)
	if names := w.disk.names(); len(names) > 0 && w.chance(30) {
		name = pick(w, names)
	}
	w.must(w.disk.put(name, w.disk.files[name].plus(doc), w.chance(50)))
	return fmt.Sprintf("new document: %s in %s", key, name)
}

func (w *walk) image() string { return fmt.Sprint("nginx:", w.IntN(1000)) }

// fileFor is a file name for an object, in any folder.
func (w *walk) fileFor(key plan.Key) string {
	folder := pick(w, []string{".", "one", "two", "three"})
	return path.Join(folder, key.Namespace+"-"+key.Name+"-"+strconv.Itoa(w.IntN(100))+".yaml")
}

// anyChange is one edit of a document.
func (w *walk) anyChange(doc *document) func(*document) {
	replicas := int32(w.IntN(5))
	image, tier, team := w.image(), pick(w, []string{"", "dev", "prod"}), pick(w, []string{"a", "b"})
	number, _ := strconv.Atoi(strings.TrimPrefix(doc.key.Name, "web-"))
	lower := fmt.Sprint("web-", w.IntN(max(1, number))) // so that there is no cycle
	annotate := func(key, value string) func(*document) {
		return func(d *document) {
			if d.annotations[key] != "" {
				delete(d.annotations, key)
			} else {
				d.annotations = with(d.annotations, key, value)
			}
		}
	}
	switch w.IntN(20) {
	case 0, 1, 2, 3:
		return func(d *document) { d.replicas = &replicas }
	case 4, 5:
		return func(d *document) { d.replicas = nil }
	case 6, 7, 8:
		return func(d *document) { d.tier = tier }
	case 9, 10:
		return func(d *document) { d.labels = with(d.labels, "team", team) }
	case 11:
		return func(d *document) { d.labels = nil }
	case 12:
		return annotate("note", team)
	case 13, 14:
		return func(d *document) { d.cleanup = !d.cleanup }
	case 15:
		return annotate(v1.PruneAnnotation, v1.Disabled)
	case 16:
		return annotate(v1.ReconcileAnnotation, v1.Disabled)
	case 17:
		if number > 0 {
			return annotate(v1.DependsOnAnnotation, lower)
		}
	}
	return func(d *document) { d.image = image }
}

func with(m map[string]string, key, value string) map[string]string {
	m = maps.Clone(m)
	if m == nil {
		m = map[string]string{}
	}
	m[key] = value
	return m
}

// somewhere is any document; false where there is none to be had.
func (w *walk) somewhere() (place, bool) {
	list := w.disk.list()
	if w.disk.gone || len(list) == 0 {
		return place{}, false
	}
	return pick(w, list), true
}

func (w *walk) editDocument() string {
	p, ok := w.somewhere()
	if !ok {
		return ""
	}
	w.must(w.disk.put(p.file, w.disk.files[p.file].with(p.at, p.doc.changed(w.anyChange(p.doc))), w.chance(50)))
	return fmt.Sprintf("edit: %s in %s", p.doc.key, p.file)
}

func (w *walk) removeDocument() string {
	p, ok := w.somewhere()
	if !ok {
		return ""
	}
	w.takeOut(p)
	return fmt.Sprintf("remove document: %s from %s", p.doc.key, p.file)
}

// takeOut removes a document, with its file where it is the last one, mostly.
func (w *walk) takeOut(p place) {
	f := w.disk.files[p.file]
	if len(f.docs) == 1 && w.chance(70) {
		w.attic[p.file] = f
		w.must(w.disk.remove(p.file))
		return
	}
	w.must(w.disk.put(p.file, f.with(p.at, nil), w.chance(50)))
}

// moveDocument takes two writes: in between it is in both files, or in neither.
func (w *walk) moveDocument() string {
	p, ok := w.somewhere()
	if !ok {
		return ""
	}
	to := w.fileFor(p.doc.key)
	if w.chance(50) {
		to = pick(w, w.disk.names())
	}
	if to == p.file {
		return ""
	}
	both := w.chance(50)
	if both {
		w.must(w.disk.put(to, w.disk.files[to].plus(p.doc), w.chance(50)))
	}
	w.must(w.disk.put(p.file, w.disk.files[p.file].with(p.at, nil), w.chance(50)))
	if w.chance(20) {
		w.rest(200 * time.Millisecond)
	}
	if !both {
		w.must(w.disk.put(to, w.disk.files[to].plus(p.doc), w.chance(50)))
	}
	return fmt.Sprintf("move document: %s from %s to %s", p.doc.key, p.file, to)
}

func (w *walk) moveFile() string {
	p, ok := w.somewhere()
	if !ok {
		return ""
	}
	to := w.fileFor(p.doc.key)
	if _, there := w.disk.files[to]; there {
		return ""
	}
	w.must(w.disk.rename(p.file, to))
	return fmt.Sprintf("move file: %s to %s", p.file, to)
}

func (w *walk) renameFolder() string {
	folders := w.disk.folders()
	to := pick(w, []string{"one", "two", "three", "four"})
	if w.disk.gone || len(folders) == 0 || slices.Contains(folders, to) {
		return ""
	}
	from := pick(w, folders)
	w.must(w.disk.renameFolder(from, to))
	return fmt.Sprintf("rename folder: %s to %s", from, to)
}

func (w *walk) changeNamespace() string {
	p, ok := w.somewhere()
	key := plan.Key{Namespace: pick(w, walkNamespaces())}
	if !ok {
		return ""
	}
	key.Name = p.doc.key.Name
	if len(w.disk.find(key)) > 0 {
		return ""
	}
	w.must(w.disk.put(p.file, w.disk.files[p.file].with(p.at, p.doc.changed(func(d *document) { d.key, d.bare = key, false })), w.chance(50)))
	return fmt.Sprintf("change namespace: %s to %s", p.doc.key, key.Namespace)
}

func (w *walk) breakSomething() string {
	p, ok := w.somewhere()
	if !ok {
		return ""
	}
	f := w.disk.files[p.file]
	var what string
	switch w.IntN(6) {
	case 0:
		f.zeroed, what = true, "no bytes"
	case 1:
		if os.Geteuid() == 0 {
			return "" // who may read everything
		}
		f.locked, what = true, "may not be read"
	default:
		flaw := flaw(1 + w.IntN(int(flaws)-1))
		f = f.with(p.at, p.doc.changed(func(d *document) { d.flaw = flaw }))
		what = fmt.Sprint("flaw ", flaw)
	}
	w.must(w.disk.put(p.file, f, w.chance(50)))
	return fmt.Sprintf("break: %s, %s of %s", p.file, what, p.doc.key)
}

// broken are files that have something wrong by themselves.
func (w *walk) broken() (names []string) {
	for _, name := range w.disk.names() {
		f := w.disk.files[name]
		if f.zeroed || f.locked || slices.ContainsFunc(f.docs, func(d *document) bool { return d.flaw != flawless }) {
			names = append(names, name)
		}
	}
	return names
}

func (w *walk) mendSomething() string {
	names := w.broken()
	if w.disk.gone || len(names) == 0 {
		return ""
	}
	name := pick(w, names)
	w.mendFile(name)
	return "mend: " + name
}

func (w *walk) mendFile(name string) {
	var f file
	for _, doc := range w.disk.files[name].docs {
		f = f.plus(doc.changed(func(d *document) { d.flaw = flawless }))
	}
	w.must(w.disk.put(name, f, true))
}

func (w *walk) writeTwice() string {
	p, ok := w.somewhere()
	if !ok {
		return ""
	}
	to := w.fileFor(p.doc.key)
	w.must(w.disk.put(to, w.disk.files[to].plus(p.doc.changed(w.anyChange(p.doc))), w.chance(50)))
	return fmt.Sprintf("write twice: %s in %s and %s", p.doc.key, p.file, to)
}

// removeMany takes files away one right after the other.
func (w *walk) removeMany() string {
	names := w.disk.names()
	if w.disk.gone || len(names) < 2 {
		return ""
	}
	w.Shuffle(len(names), func(i, j int) { names[i], names[j] = names[j], names[i] })
	names = names[:1+w.IntN(len(names))]
	for _, name := range names {
		w.attic[name] = w.disk.files[name]
		w.must(w.disk.remove(name))
	}
	return fmt.Sprintf("remove many: %d files, %d are left", len(names), len(w.disk.files))
}

// bringBack restores files that were removed, but for what is written elsewhere.
func (w *walk) bringBack() string {
	names := slices.Sorted(maps.Keys(w.attic))
	if w.disk.gone || len(names) == 0 {
		return ""
	}
	w.Shuffle(len(names), func(i, j int) { names[i], names[j] = names[j], names[i] })
	names = names[:1+w.IntN(len(names))]
	for _, name := range names {
		w.restore(name)
	}
	return fmt.Sprintf("bring back: %d files", len(names))
}

func (w *walk) restore(name string) {
	var f file
	for _, doc := range w.attic[name].docs {
		if len(w.disk.find(doc.key)) == 0 && !slices.ContainsFunc(f.docs, func(d *document) bool { return d.key == doc.key }) {
			f = f.plus(doc)
		}
	}
	delete(w.attic, name)
	if _, there := w.disk.files[name]; !there && len(f.docs) > 0 {
		w.must(w.disk.put(name, f, w.chance(50)))
	}
}

func (w *walk) loseDirectory() string {
	if w.disk.gone {
		return ""
	}
	switch w.IntN(3) {
	case 0:
		w.must(w.disk.leadAway(rootEmpty))
		return "lose: the link leads to an empty directory"
	case 1:
		w.must(w.disk.leadAway(rootMissing))
		return "lose: the link leads nowhere"
	}
	w.must(w.disk.renameAway())
	return "lose: the directory is renamed away"
}

func (w *walk) findDirectory() string {
	if !w.disk.gone {
		return ""
	}
	w.must(w.disk.comeBack())
	return "find: the directory is back"
}

// swapDirectory puts another directory in the place of this one, in one go: with
// the same files, or with some of them changed, gone, or elsewhere.
func (w *walk) swapDirectory() string {
	if w.disk.gone {
		return ""
	}
	files, changes := map[string]file{}, w.IntN(4)
	for name, f := range w.disk.files {
		files[name] = f
	}
	for range changes {
		list := placesOf(files)
		if len(list) == 0 {
			break
		}
		p := pick(w, list)
		switch w.IntN(3) {
		case 0:
			files[p.file] = files[p.file].with(p.at, p.doc.changed(w.anyChange(p.doc)))
		case 1:
			files[p.file] = files[p.file].with(p.at, nil)
		default:
			to := w.fileFor(p.doc.key)
			files[p.file] = files[p.file].with(p.at, nil)
			files[to] = files[to].plus(p.doc)
		}
	}
	w.must(w.disk.swap(files))
	return fmt.Sprintf("swap: the directory, with %d changes", changes)
}
