package web

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"labhub.io/webservice-controller/internal/browser"
	"labhub.io/webservice-controller/internal/report"
)

// filterLimit is how long filtering 10,000 rows may take, from the key that is
// pressed to what is painted.
const filterLimit = 100.0

// TestPageWithTenThousand: only the rows in sight are on the page, and filtering all
// of them is quick.
func TestPageWithTenThousand(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	r := aReport(10_000)
	r.Items[7].Reason = "the needle"
	s.Publish(r)
	p := s.Open(s.url(), browser.Wide())
	p.Says(pageLimit, "#count", "10,000 objects")
	shoot(p, "ten-thousand-wide-light")
	rows := `document.querySelectorAll('.rows [role=row]').length`
	if n := browser.Eval[int](p, rows); n < 5 || n > 60 {
		t.Errorf("%d rows are on the page", n)
	}
	browser.Eval[struct{}](p, `void scrollTo(0, document.body.scrollHeight)`)
	last := r.Items[len(r.Items)-1]
	p.Says(pageLimit, ".rows [role=row]:last-child", last.Name)

	browser.Eval[struct{}](p, `void (window.took = [], document.getElementById('search').addEventListener('input', (event) => {
		requestAnimationFrame(() => {
			const painted = new MessageChannel();
			painted.port1.onmessage = () => took.push(performance.now() - event.timeStamp);
			painted.port2.postMessage(0);
		});
	}, true))`)
	p.Press("/") // goes to the search
	pressed := 0
	press := func(keys string) {
		for _, key := range keys { // the next when what the one before did is painted
			p.Type(string(key))
			pressed++
			p.Eventually(pageLimit, fmt.Sprintf("took.length === %d", pressed))
		}
	}
	press("worker")
	p.Says(pageLimit, "#count", "2,500 of 10,000 objects")
	press(" needle")
	p.Says(pageLimit, "#count", "0 of 10,000 objects")
	p.Says(pageLimit, "#nothing", "No WebService is like that")
	press(strings.Repeat("\b", len("worker needle")) + "needle")
	p.Says(pageLimit, "#count", "1 of 10,000 objects")
	p.Says(pageLimit, ".rows [role=row]", r.Items[7].Name)
	took := slices.Sorted(slices.Values(browser.Eval[[]float64](p, "took")))
	most := took[len(took)*9/10] // the machine may have been elsewhere now and then
	t.Logf("filtering 10,000 rows: %d keys, median %.1f ms, nine in ten within %.1f ms, longest %.1f ms",
		len(took), took[len(took)/2], most, took[len(took)-1])
	if most > filterLimit {
		t.Errorf("filtering takes %.1f ms, want at most %.0f", most, filterLimit)
	}
	p.Silent()
}

// TestPageRunsNothing: whatever files and cluster say stays text.
func TestPageRunsNothing(t *testing.T) {
	t.Parallel()
	hostile := []string{
		`<img src=x onerror="window.harmed=1">`, `"><script>window.harmed=1</script>`, `javascript:window.harmed=1`, `{{constructor.constructor('window.harmed=1')()}}`,
		"</style><svg onload=window.harmed=1>", "a\u202egpj.exe", "a\x00b\x1b[31mc", "line\nbreak\r\nevent: report\ndata: {}", strings.Repeat("n", 250), "\u200binvisible", "&lt;b&gt;",
	}
	s := newSite(t)
	r := troubled(len(hostile) + 5)
	for i, text := range hostile {
		it := &r.Items[i+5]
		it.Namespace, it.Name, it.Reason, it.Source, it.Target = "z-"+text, text, text, text+":1", "webservice/"+text
		r.Problems = append(r.Problems, report.Problem{Path: text, Line: 1, Column: 1, Message: text})
		r.Held = append(r.Held, report.Held{Namespace: "z-" + text, Name: text, Reason: text})
		o := anObject(it)
		o.Fields[0] = report.Field{Target: it.Target, Path: "metadata.labels[" + text + "]", Desired: &text, Actual: &text, Owners: []string{text}}
		o.Decisions[0].Reason = text
		s.shown.objects[it.Namespace+"/"+it.Name] = o
	}
	sortItems(r.Items)
	all := strings.Join(hostile, " ")
	r.WaitingFor, r.HeldCommand, r.ControllerVersion, r.Holder = all, all, all, all
	r.Source = report.Source{Path: all, Name: all, Revision: all, WatchMode: all, WatchReason: all, LastScan: time.Now()}
	s.Publish(r)
	p := s.Open(s.url(), browser.Wide())
	p.Says(pageLimit, "#why", hostile[0])
	p.Says(pageLimit, "#facts", `a\u202egpj.exe`)
	for i, text := range hostile {
		key, err := json.Marshal("z-" + text + "/" + text)
		if err != nil {
			t.Fatal(err)
		}
		browser.Eval[struct{}](p, fmt.Sprintf(`void (location.hash = new URLSearchParams({ object: %s, q: %q }))`, key, ""))
		p.Eventually(pageLimit, fmt.Sprintf(`document.querySelectorAll('.detail .fields').length > 0 && document.querySelectorAll('.rows [aria-selected=true]').length <= 1 && %d >= 0`, i))
	}
	for _, size := range []browser.Size{browser.Wide(), browser.Phone()} {
		p.Resize(size)
		fits(p, "hostile")
		shoot(p, fmt.Sprintf("hostile-%d", size.Width))
	}
	if browser.Eval[bool](p, `'harmed' in window || document.querySelectorAll('img, iframe, object, embed, body script, style, [onerror], [onload]').length > 0`) {
		t.Error("markup from data became a part of the page")
	}
	if shown := browser.Eval[bool](p, `/[\u202a-\u202e\u2066-\u2069\u200b]/.test(document.body.innerText)`); shown {
		t.Error("a character that turns text around is on the page as it is")
	}
	p.Silent()
	// Were the script to make a mistake, the browser wouldn't let it.
	if got := browser.Eval[string](p, `(() => { try { document.body.insertAdjacentHTML('beforeend', '<b>x</b>'); return 'done'; } catch (error) { return error.name; } })()`); got != "TypeError" {
		t.Errorf("text can become markup: %s", got)
	}
	if got := browser.Eval[string](p, `fetch('http://127.0.0.1:1/').then(() => 'done', (error) => error.name)`); got != "TypeError" {
		t.Errorf("the page may talk to others: %s", got)
	}
}

// TestPageFollows: a page shows what is published, without being loaded again.
func TestPageFollows(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.Publish(aReport(30))
	p := s.Open(s.url(), browser.Wide())
	p.Says(pageLimit, "#state", "Converged")
	before := browser.Eval[float64](p, `performance.timeOrigin`)

	r := troubled(30)
	s.Publish(r)
	p.Says(pageLimit, "#state", "Not converged")
	p.Says(pageLimit, "#live", "Not converged. Waiting for: 1 failing object")
	p.Says(pageLimit, ".notice.problems", "crd-lab/checkout.yaml:7:10")
	p.Says(pageLimit, ".notice.held", r.HeldCommand)
	p.Click(".notice.held .command button")
	p.Says(pageLimit, ".notice.held .command button", "Copied")

	// The states are filters, and one more click takes the filter away.
	chip := func(label string) string {
		return fmt.Sprintf(`[...document.querySelectorAll('.chips button')].find((b) => b.innerText.startsWith(%q))`, label)
	}
	for _, c := range [][2]string{{"Failing", "1 of 30"}, {"Held", "1 of 30"}, {"File unusable", "1 of 30"}, {"Suspended", "1 of 30"}, {"In order", "24 of 30"}} {
		browser.Eval[struct{}](p, "void "+chip(c[0])+".click()")
		p.Says(pageLimit, "#count", c[1])
		if got := browser.Eval[string](p, chip(c[0])+".getAttribute('aria-pressed')"); got != "true" {
			t.Errorf("%s is pressed: %s", c[0], got)
		}
		browser.Eval[struct{}](p, "void "+chip(c[0])+".click()")
	}
	p.Says(pageLimit, "#count", "30 objects")
	p.Click(".grid .head .reason button")
	p.Eventually(pageLimit, `document.querySelector('.head .reason').getAttribute('aria-sort') === 'ascending'`)
	p.Says(pageLimit, ".rows [role=row]", "its file can't be used")

	// An object that goes, one that comes, and all is well again.
	next := aReport(31)
	next.Items = next.Items[1:]
	s.Publish(next)
	p.Says(pageLimit, "#state", "Converged")
	p.Eventually(pageLimit, `document.querySelectorAll('.notice').length === 0`)
	p.Says(pageLimit, "#count", "30 objects")
	if after := browser.Eval[float64](p, `performance.timeOrigin`); after != before {
		t.Error("the page was loaded again")
	}
	p.Silent()
}

// TestPageByKeyboard: all can be reached without a mouse, and what has the focus is to
// be seen.
func TestPageByKeyboard(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	r := aReport(200)
	for i := range r.Items {
		s.shown.objects[r.Items[i].Namespace+"/"+r.Items[i].Name] = anObject(&r.Items[i])
	}
	s.Publish(r)
	p := s.Open(s.url(), browser.Wide())
	p.Says(pageLimit, "#count", "200 objects")
	p.Type("\t")
	if got := p.Text(":focus"); got != "Skip to the WebServices" {
		t.Errorf("the first stop is %q", got)
	}
	p.Type("\r")
	p.Eventually(pageLimit, `document.activeElement.id === 'services-title'`)
	for range 15 { // past the tools
		if browser.Eval[bool](p, `document.activeElement.id === 'rows'`) {
			break
		}
		p.Type("\t")
		if browser.Eval[bool](p, `getComputedStyle(document.activeElement).outlineStyle === 'none' && document.activeElement.id !== 'rows'`) {
			t.Errorf("no outline on %s", browser.Eval[string](p, `document.activeElement.outerHTML.slice(0, 100)`))
		}
	}
	active := `document.getElementById(document.activeElement.getAttribute('aria-activedescendant'))?.innerText ?? ''`
	for _, c := range []struct {
		key string
		row int
	}{{"\u0301", 1}, {"\u0305", 199}, {"\u0306", 0}, {"\u0301", 1}} { // ArrowDown, End, Home, as kb has them
		p.Type(c.key)
		p.Eventually(pageLimit, fmt.Sprintf("(%s).includes(%q)", active, r.Items[c.row].Name))
	}
	p.Type("\r")
	p.Says(pageLimit, "#detail-title", r.Items[1].Name)
	p.Eventually(pageLimit, `document.activeElement.id === 'detail-title'`)
	p.Says(pageLimit, ".detail", "kubectl-edit")
	p.Says(pageLimit, ".detail .decisions", "spec.image is")
	shoot(p, "detail-keyboard-wide")
	p.Type("\u001b")
	p.Eventually(pageLimit, `document.activeElement.id === 'rows' && document.querySelector('.detail') === null`)
	p.Silent()
}

// TestPageForScreenReaders looks at the page as they do.
func TestPageForScreenReaders(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	r := troubled(300)
	s.shown.objects[r.Items[1].Namespace+"/"+r.Items[1].Name] = anObject(&r.Items[1])
	s.Publish(r)
	p := s.Open(s.url()+"#object="+r.Items[1].Namespace+"/"+r.Items[1].Name, browser.Wide())
	p.Says(pageLimit, "#count", "300 objects")
	p.Says(pageLimit, ".detail", "kubectl-edit")
	tree := p.Tree()
	for _, want := range []browser.Node{
		{Role: "banner"}, {Role: "main"}, {Role: "search", Name: "WebServices"},
		{Role: "heading", Name: "webservice-controller"}, {Role: "heading", Name: "Not converged"},
		{Role: "heading", Name: "Held deletions 1"}, {Role: "heading", Name: "Problems 2"}, {Role: "heading", Name: "Warnings 1"},
		{Role: "heading", Name: "Recent cycles"}, {Role: "heading", Name: "WebServices"},
		{Role: "region", Name: "Not converged"}, {Role: "region", Name: "Problems 2"}, {Role: "region", Name: "WebServices"},
		{Role: "region", Name: r.Items[1].Namespace + "/" + r.Items[1].Name},
		{Role: "button", Name: "Theme: auto"}, {Role: "button", Name: "Copy the command that approves the held deletions"}, {Role: "button", Name: "Close"},
		{Role: "searchbox", Name: "Search WebServices"}, {Role: "combobox", Name: "Action"}, {Role: "combobox", Name: "Order"},
		{Role: "group", Name: "State"}, {Role: "button", Name: "Failing 1"},
		{Role: "image", Name: "Last 90 cycles: the longest took 1.1 s, 1,623 writes, 4 objects healed."},
		{Role: "grid", Name: "WebServices"}, {Role: "columnheader", Name: "WebService"}, {Role: "columnheader", Name: "Last decision and why"},
		{Role: "gridcell", Name: "Failing"}, {Role: "gridcell", Name: r.Items[1].Namespace + "/" + r.Items[1].Name},
		{Role: "table", Name: "Fields of webservice/" + r.Items[1].Name}, {Role: "columnheader", Name: "Should be"},
		{Role: "rowheader", Name: "spec.image differs"}, {Role: "cell", Name: "kubectl-edit"},
		{Role: "status"},
	} {
		if !slices.ContainsFunc(tree, func(n browser.Node) bool {
			return n.Role == want.Role && (want.Name == "" || n.Name == want.Name)
		}) {
			t.Errorf("there is no %s named %q", want.Role, want.Name)
		}
	}
	for _, n := range tree {
		needsName := []string{"button", "link", "searchbox", "combobox", "grid", "table", "region", "heading", "image", "columnheader"}
		if slices.Contains(needsName, n.Role) && strings.TrimSpace(n.Name) == "" {
			t.Errorf("a %s has no name: %v", n.Role, n.Properties)
		}
	}
	if got := browser.Eval[int](p, `document.querySelectorAll('[aria-sort]').length`); got != 0 {
		t.Errorf("%d columns are said to be sorted by, and trouble comes first", got)
	}
	p.Click(".grid .head .name button")
	p.Eventually(pageLimit, `document.querySelector('.head .name').getAttribute('aria-sort') === 'ascending'`)
	if got := browser.Eval[string](p, `document.getElementById('rows').getAttribute('aria-rowcount')`); got != "301" {
		t.Errorf("%s rows are said to be there", got)
	}
	p.Silent()
}

// TestPageThemes: the system's theme counts until one is chosen, which is remembered.
func TestPageThemes(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.Publish(aReport(3))
	p := s.Open(s.url(), browser.Wide())
	dark := func() bool {
		return browser.Eval[bool](p, `getComputedStyle(document.body).backgroundColor === 'rgb(21, 23, 26)'`)
	}
	for _, c := range []struct {
		system, chosen string
		dark           bool
	}{{"light", "auto", false}, {"dark", "auto", true}, {"dark", "light", false}, {"light", "dark", true}, {"light", "auto", false}} {
		p.Theme(c.system)
		for range 3 {
			if p.Text("#theme") != "Theme: "+c.chosen {
				p.Click("#theme")
			}
		}
		p.Visit(s.url())
		p.Says(pageLimit, "#theme", "Theme: "+c.chosen)
		if dark() != c.dark {
			t.Errorf("system %s, chosen %s: dark %t", c.system, c.chosen, dark())
		}
	}
	p.Silent()
}
