package e2e

import (
	"fmt"
	"maps"
	"testing"
)

func TestOneEditAmongAThousandFilesWritesThatObjectAlone(t *testing.T) {
	const files, edited = 1000, "service-0500"
	l := newLab(t)
	texts := map[string]string{}
	for n := range files {
		name := fmt.Sprintf("service-%04d", n)
		texts[fmt.Sprintf("team-%d/%s.yaml", n%10, name)] = service(name, "nginx:1.27")
	}
	l.write(texts)
	d := l.run()
	r := d.converges()
	if r.Summary.Total != files || r.Summary.Create != files {
		t.Fatalf("summary %+v", r.Summary)
	}
	t.Logf("%d objects from nothing in %.1f s", files, *r.DurationSeconds)
	file := "team-0/" + edited + ".yaml"

	before, mark := l.states(), l.cluster.Audit().Mark(t)
	l.write(map[string]string{file: service(edited, "nginx:1.28")})
	r = d.converges(reading(r))
	if r.Requests.Writes != 3 || r.Summary.Update != 1 || r.Summary.Noop != files-1 {
		t.Errorf("requests %+v, summary %+v", r.Requests, r.Summary)
	}
	l.must(l.done(edited, "nginx:1.28"))
	l.wantAsked(mark, "patch webservices "+edited, "patch configmaps "+edited+"-desired", "patch webservices/status "+edited)
	l.onlyChanged(before, "webservices/"+edited, "configmaps/"+edited+"-desired")

	// A label is no part of what the ConfigMap and the status say.
	before, mark = l.states(), l.cluster.Audit().Mark(t)
	l.write(map[string]string{file: service(edited, "nginx:1.28", "labels: {team: shop}")})
	r = d.converges(reading(r))
	l.wantAsked(mark, "patch webservices "+edited)
	l.onlyChanged(before, "webservices/"+edited)
	if r.Requests.Writes != 1 {
		t.Errorf("requests %+v", r.Requests)
	}
}

// onlyChanged wants these objects to have been written or made, and no others.
func (l *lab) onlyChanged(before map[string]string, names ...string) {
	l.Helper()
	before, now := maps.Clone(before), l.states()
	for _, name := range names {
		if now[name] == before[name] {
			l.Errorf("%s wasn't written", name)
		}
		delete(now, name)
		delete(before, name)
	}
	l.equal(before, now)
}
