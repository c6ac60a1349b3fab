package web

import (
	"fmt"
	"strings"
	"testing"

	"labhub.io/webservice-controller/internal/browser"
)

// TestPageLeadsToTrouble: all of it is counted below the verdict, leads to its objects,
// and stands first among the rows.
func TestPageLeadsToTrouble(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	r := troubled(30)
	s.Publish(r)
	p := s.Open(s.url(), browser.Wide())
	p.Says(pageLimit, "#count", "30 objects")
	if got, want := words(p, "#troubles"), "1 failing 1 file unusable 1 held 1 waiting 2 problems"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	toRows(p)
	for i, at := range []int{1, 5, 3, 2, 0} { // failing, unusable, held, waiting, and the rest by name
		p.Says(pageLimit, fmt.Sprintf(".rows [aria-rowindex='%d']", i+2), r.Items[at].Name)
	}
	p.Says(pageLimit, ".rows [aria-rowindex='3'] .file", "unusable file")
	p.Click("#troubles li:nth-child(1) button")
	p.Says(pageLimit, "#count", "1 of 30 objects")
	p.Eventually(pageLimit, `document.activeElement.id === 'services-title' && location.hash.includes('state=failing')`)
	p.Click("#troubles li:last-child button")
	p.Eventually(pageLimit, `document.activeElement.id === 'problems-title'`)

	// The numbers beside the states are those of what is searched for.
	browser.Eval[struct{}](p, `void (location.hash = 'q='+encodeURIComponent("can't be used"))`)
	p.Says(pageLimit, "#count", "1 of 30 objects")
	if got, want := words(p, ".chips"), "All 1 Failing 0 File unusable 1 Held 0 Waiting 0 Changed 0 Suspended 0 In order 0"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	p.Silent()
}

// toRows brings the first rows in sight: others aren't on the page.
func toRows(p *browser.Page) {
	p.Helper()
	browser.Eval[struct{}](p, `void document.getElementById('services-title').scrollIntoView()`)
}

// words are those of an element, with single spaces between them.
func words(p *browser.Page, selector string) string {
	p.Helper()
	return strings.Join(strings.Fields(p.Text(selector)), " ")
}

// TestPageHeadings: what is left alone isn't said to be as it should be.
func TestPageHeadings(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	r := troubled(30)
	r.Items[7].Source = "" // made by hand
	for i := range 10 {
		it := &r.Items[i]
		o := anObject(it)
		o.Usable, o.Fields = !it.Unusable, o.Fields[1:2] // which is as it should be
		s.shown.objects[it.Namespace+"/"+it.Name] = o
	}
	s.Publish(r)
	p := s.Open(s.url(), browser.Wide())
	p.Says(pageLimit, "#count", "30 objects")
	for _, c := range []struct {
		at         int
		label, say string
	}{
		{3, "Held", "kept while its deletion is held"},
		{4, "Suspended", "left alone while it is suspended"},
		{5, "File unusable", "kept as it is: its file can’t be used"},
		{6, "In order", "as it should be"},
		{7, "In order", "no file says how it should be"},
	} {
		it := &r.Items[c.at]
		browser.Eval[struct{}](p, fmt.Sprintf(`void (location.hash = 'object=%s/%s')`, it.Namespace, it.Name))
		p.Says(pageLimit, "#detail-title", it.Name)
		p.Says(pageLimit, ".detail .fields h3", "webservice/"+it.Name+" "+c.say)
		p.Says(pageLimit, ".detail .label", c.label)
		if got := p.Text(".detail .fields h3"); c.at != 6 && strings.Contains(got, "as it should be") {
			t.Errorf("%s: %q", c.label, got)
		}
	}
	// What differs comes first.
	o := anObject(&r.Items[6])
	o.Fields = append(o.Fields[1:5:5], o.Fields[0])
	s.shown.mu.Lock()
	s.shown.objects[r.Items[6].Namespace+"/"+r.Items[6].Name] = o
	s.shown.mu.Unlock()
	browser.Eval[struct{}](p, fmt.Sprintf(`void (location.hash = 'object=%s/%s')`, r.Items[6].Namespace, r.Items[6].Name))
	p.Says(pageLimit, ".detail .fields h3", "1 of 5 fields differ")
	if got := p.Text(".detail tbody tr"); !strings.Contains(got, "spec.image differs") {
		t.Errorf("the first field is %q", got)
	}
	p.Silent()
}

// TestPageOfHolds: the reason is said once, and what to do is what helps.
func TestPageOfHolds(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	r := emptied(23)
	s.Publish(r)
	p := s.Open(s.url(), browser.Wide())
	p.Says(pageLimit, ".notice.held", "To keep them, bring their files back. To delete exactly these, once:")
	p.Says(pageLimit, ".notice.held", "in the active pod’s container “controller”")
	all := p.Text(".notice.held")
	if n := strings.Count(all, r.Held[0].Reason); n != 1 {
		t.Errorf("the reason is said %d times", n)
	}
	for _, h := range r.Held {
		if !strings.Contains(all, h.Namespace+"/"+h.Name) {
			t.Errorf("%s isn't named", h.Name)
		}
	}
	if got := browser.Eval[string](p, `document.getElementById('verdict').dataset.sign`); got != "failing" {
		t.Errorf("the sign is %q", got)
	}
	if why := p.Text("#why"); strings.Contains(why, "approve") || !strings.HasSuffix(why, r.Held[0].Reason) {
		t.Errorf("the verdict says %q", why)
	}

	r = emptied(23)
	r.HeldDigest, r.HeldCommand = "", ""
	r.Held[0].Reason = "held: the lease was taken over a short time ago"
	s.Publish(r)
	p.Says(pageLimit, ".notice.held", "Approval can’t help here: they go on when the reason is gone.")
	if n := browser.Eval[int](p, `document.querySelectorAll('.notice.held .reason').length`); n != 2 {
		t.Errorf("%d reasons, want 2", n)
	}

	r = emptied(200) // more than anybody reads
	s.Publish(r)
	p.Says(pageLimit, ".notice.held", "Show all 200 entries")
	p.Click(".notice.held > button")
	p.Says(pageLimit, ".notice.held", r.Held[199].Name)
	p.Silent()
}

// TestPageOfAStandby: that it doesn't converge is no trouble.
func TestPageOfAStandby(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.Publish(standby(0))
	p := s.Open(s.url(), browser.Wide())
	p.Says(pageLimit, "#why", "This process reads files and cluster, decides nothing while another writes, and takes over when that ends.")
	p.Says(pageLimit, "#facts", "Standby: node-b_77aa01 holds the lease")
	p.Says(pageLimit, "#drawings", "Last 90 cycles")
	if got := p.Text("#drawings"); strings.Contains(got, "Not converged") || strings.Contains(got, "not converged") {
		t.Errorf("a stand-by's page says %q", got)
	}
	s.Publish(aReport(3))
	p.Says(pageLimit, "#drawings", "Not converged 3 times")
	p.Says(pageLimit, "#drawings", "not converged, for less than a second")
	p.Says(pageLimit, "#facts", "Active: this process holds the lease (node-a_5f0c1b)")
	if got := browser.Eval[float64](p, `document.querySelector('.strip .brief').getBoundingClientRect().width`); got > 1.5 {
		t.Errorf("a moment is %.1f pixels wide", got)
	}
	p.Silent()
}

// TestPageOnAPhone has the facts folded, so that trouble comes first.
func TestPageOnAPhone(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.Publish(troubled(30))
	p := s.Open(s.url(), browser.Phone())
	p.Says(pageLimit, "#count", "30 objects")
	top := browser.Eval[float64](p, `document.querySelector('.notice').getBoundingClientRect().top / innerHeight`)
	if browser.Eval[bool](p, `document.getElementById('more').open`) || top > 0.6 {
		t.Errorf("the held deletions begin at %.0f %% of the screen", 100*top)
	}
	p.Click("#more summary")
	p.Says(pageLimit, "#facts", "Last scan")
	p.Resize(browser.Wide())
	p.Eventually(pageLimit, `document.getElementById('more').open`)
	p.Silent()
}

// TestPageOfAnOutage keeps the rows as they were, and greys them.
func TestPageOfAnOutage(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.shown.unready = errAway
	r := troubled(30)
	r.WaitingFor = errAway.Error()
	s.Publish(r)
	p := s.Open(s.url(), browser.Wide())
	p.Says(pageLimit, "#why", "connection refused. Below is how things stood when it last could work.")
	toRows(p)
	p.Says(pageLimit, ".rows", "Failing")
	grey := `getComputedStyle(document.querySelector('.list')).filter.includes('grayscale')`
	p.Eventually(pageLimit, grey)
	s.shown.mu.Lock()
	s.shown.unready = nil
	s.shown.mu.Unlock()
	s.Publish(aReport(30))
	p.Says(pageLimit, "#state", "Converged")
	p.Eventually(pageLimit, "!("+grey+")")
	p.Silent()
}
