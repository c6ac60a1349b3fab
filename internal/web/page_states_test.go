package web

import (
	"slices"
	"testing"

	"labhub.io/webservice-controller/internal/browser"
	"labhub.io/webservice-controller/internal/report"
)

func sortItems(items []report.Item) {
	slices.SortFunc(items, func(a, b report.Item) int {
		switch x, y := (key{a.Namespace, a.Name}), (key{b.Namespace, b.Name}); {
		case x.before(y):
			return -1
		case y.before(x):
			return 1
		}
		return 0
	})
}

// TestPageStates: each state in which a controller can be has words of its own.
func TestPageStates(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	for _, c := range []struct {
		name        string
		publish     func(p *browser.Page)
		state, says string // the verdict, and what else is to be read somewhere
	}{
		{"loading", func(*browser.Page) {}, "No report yet", "Nothing is known yet"},
		{"emptied", func(*browser.Page) { s.Publish(emptied(23)) }, "Not converged", "23 held"},
		{"empty", func(*browser.Page) {
			r := aReport(0)
			r.SourceFailed = true
			r.Converged, r.WaitingFor = false, "the source has no WebServices: put the files back, mend source.path, or set source.allowEmpty"
			s.Publish(r)
		}, "Not converged", "There are no WebServices"},
		{"converged", func(*browser.Page) { s.Publish(aReport(40)) }, "Converged", "40 WebServices are as the files say"},
		{"troubled", func(*browser.Page) { s.Publish(troubled(40)) }, "Not converged", `spec.image is a number: quote it, as in image: "1.20"`},
		{"detail", func(p *browser.Page) {
			r := troubled(40)
			s.shown.mu.Lock()
			s.shown.objects[r.Items[1].Namespace+"/"+r.Items[1].Name] = anObject(&r.Items[1])
			s.shown.mu.Unlock()
			s.Publish(r)
			browser.Eval[struct{}](p, `void (location.hash = 'object=`+r.Items[1].Namespace+"/"+r.Items[1].Name+`')`)
		}, "Not converged", "1 of 5 fields differ"},
		{"standby", func(*browser.Page) { s.Publish(standby(0)) }, "Standing by", "node-b_77aa01 holds the lease and does the work"},
		{"outage", func(*browser.Page) {
			s.shown.mu.Lock()
			s.shown.unready = errAway
			s.shown.mu.Unlock()
			r := troubled(40)
			r.Converged, r.WaitingFor = false, errAway.Error()
			s.Publish(r)
		}, "Not ready", "The API server can't be reached: connection refused."},
	} {
		p := s.Open(s.url(), browser.Wide())
		c.publish(p)
		p.Says(pageLimit, "#state", c.state)
		p.Says(pageLimit, "body", c.says)
		for _, scheme := range []string{"light", "dark"} {
			p.Theme(scheme)
			p.Resize(browser.Wide())
			shoot(p, c.name+"-wide-"+scheme)
			p.Resize(browser.Phone())
			fits(p, c.name)
			shoot(p, c.name+"-phone-"+scheme)
			browser.Eval[struct{}](p, `void document.getElementById('services-title').scrollIntoView()`)
			shoot(p, c.name+"-phone-rows-"+scheme)
			browser.Eval[struct{}](p, `void scrollTo(0, 0)`)
		}
		p.Silent()
		p.Close() // a browser opens six connections to a site at the most
		s.shown.mu.Lock()
		s.shown.unready = nil
		s.shown.mu.Unlock()
	}
}

// fits: nothing sticks out of the screen sideways.
func fits(p *browser.Page, name string) {
	p.Helper()
	p.Eventually(pageLimit, `document.documentElement.scrollWidth <= innerWidth &&
		[...document.querySelectorAll('svg')].every((node) => node.closest('.rows') || node.getBoundingClientRect().right <= innerWidth)`)
	if over := browser.Eval[[]string](p, `[...document.querySelectorAll('main *')].filter((node) =>
		node.getBoundingClientRect().right > innerWidth + 1 && !node.closest('.wide, [inert], .rows, .unseen, thead, svg')).map((node) => node.outerHTML.slice(0, 80)).slice(0, 5)`); len(over) > 0 {
		p.Errorf("%s: off the screen: %q", name, over)
	}
}
