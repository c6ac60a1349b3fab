package web

import (
	"encoding/json"
	"fmt"
	"testing"

	"labhub.io/webservice-controller/internal/browser"
)

// in has the page work out an expression in which m is one of its modules.
func in[T any](p *browser.Page, module, expression string) T {
	p.Helper()
	return browser.Eval[T](p, fmt.Sprintf(`import('/%s').then((m) => %s)`, module, expression))
}

// TestPageModules: the parts of the script that only work things out.
func TestPageModules(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.Publish(aReport(1))
	p := s.Open(s.url(), browser.Wide())

	for _, c := range []struct{ module, expression, want string }{
		{"text.js", `[0, 0.0004, 0.0123, 0.9996, 2.54, 10.4, 119, 130, 7100, 9000, 400000].map(m.span)`,
			`["0 ms","0 ms","12 ms","1 s","2.5 s","10 s","119 s","2 min","118 min","3 h","5 days"]`},
		{"text.js", `[-3, 0.4, 1.9, 61].map(m.ago)`, `["just now","just now","1 s ago","61 s ago"]`},
		{"text.js", `[m.count(1, 'read'), m.count(2000, 'read'), m.count(0, 'entry', 'entries')]`, `["1 read","2,000 reads","0 entries"]`},
		{"text.js", `m.visible('plain é 漢字 🙂 "<&>')`, `"plain é 漢字 🙂 \"<&>"`},
		{"text.js", `m.visible('a\u202eb\u0000\u200b\ufeff\u2028\u{e0041}\ud800')`, `"a\\u202eb\\u0000\\u200b\\ufeff\\u2028\\ue0041\\ud800"`},
		{"grid.js", `[m.versionOf({before: '1', after: '1'}), m.versionOf({before: '', after: '2'}), m.versionOf({before: '2', after: ''}), m.versionOf({before: '', after: ''})]`,
			`["1","none → 2","2 → none","none"]`},
		// A stream that comes in any pieces says the same.
		{"stream.js", `(() => {
			const text = 'event: beat\ndata: {"a":1}\n\nevent: report\nid: x.1\ndata: {"b":"c: d"}\n\n: comment\n\nevent: report\ndata: 2\n\n';
			const said = (pieces) => { const out = []; const take = m.parser((e) => out.push(e)); pieces.forEach(take); return JSON.stringify(out); };
			const whole = said([text]);
			for (let i = 0; i <= text.length; i++) {
				for (let j = i; j <= text.length; j++) {
					if (said([text.slice(0, i), text.slice(i, j), text.slice(j)]) !== whole) return i + ' ' + j;
				}
			}
			return said([...text]) === whole ? JSON.parse(whole) : 'letter by letter';
		})()`, `[{"data":"{\"a\":1}","id":null,"name":"beat"},{"data":"{\"b\":\"c: d\"}","id":"x.1","name":"report"},{"data":"2","id":null,"name":"report"}]`},
		// Every word must be there, in whatever case and field; the order stays.
		{"filter.js", `(() => {
			const item = (name, action, state) => ({ namespace: 'lab', name, action, state, reason: 'Why', source: 'f.yaml:1', target: 't', generation: 1, resource_versions: { webservice: { after: '9' } } });
			const rows = [item('a', 'noop', 'good'), item('b', 'requeue', 'failing'), item('c', 'requeue', 'held'), item('d', 'update', 'changed'), item('e', 'noop', 'suspended'), item('f', 'noop', 'unusable'), item('g', 'requeue', 'waiting'), item('h', 'requeue', 'failing')].map(m.rowOf);
			const names = (rows) => rows.map((row) => row.item.name).join('');
			const all = { text: '', state: '', action: '' };
			return [rows.map((row) => row.label), names(m.filterRows(rows, { ...all, text: ' WHY lab/a' })), names(m.filterRows(rows, { ...all, text: 'lab nowhere' })),
				names(m.filterRows(rows, { ...all, state: 'held' })), names(m.filterRows(rows, { ...all, action: 'noop' })),
				names(m.inOrder(rows, 'name', 1)), names(m.inOrder(rows, 'name', -1)), names(m.inOrder(rows, 'state', 1)), names(m.inOrder(rows, 'trouble', 1)), m.tally(rows).failing];
		})()`, `[["In order","Failing","Held","Updated","Suspended","File unusable","Waiting","Failing"],"a","","c","aef","abcdefgh","hgfedcba","bhfcgdea","bhfcgade",2]`},
		// The icon of a source that is gone is that of trouble, and the command isn't said twice.
		{"summary.js", `(() => {
			const verdict = (failed, report) => {
				const v = m.verdictOf({ notReady: '', list: [], sourceFailed: failed, report: { role: 'active', summary: { errors: 0, problems: 0, held: 2 }, ...report } });
				return [v.sign, v.why];
			};
			return [verdict(true, { waiting_for: 'the source is empty; 2 held: why (approve x --out o)', held_command: 'approve x --out o' }),
				verdict(false, { waiting_for: '2 held: why (no command)' }),
				verdict(false, { summary: { errors: 0, problems: 0, held: 0 } })];
		})()`, `[["failing","The source is empty; 2 held: why"],["held","2 held: why (no command)"],["waiting","The cycle to end"]]`},
		{"summary.js", `[[1, 1], [0, 2], [0, 0]].map(([failing, n]) => m.troublesOf({ report: { summary: { held: 11 * n, problems: n } }, counts: { failing, unusable: n, waiting: n } }).map((t) => t.n + ' ' + t.words + ' ' + (t.state ?? '#' + t.section)))`,
			`[["1 failing failing","1 file unusable unusable","11 held #held","1 waiting waiting","1 problem #problems"],["2 files unusable unusable","22 held #held","2 waiting waiting","2 problems #problems"],[]]`},
	} {
		got, err := json.Marshal(in[any](p, c.module, c.expression))
		if err != nil {
			t.Fatal(err)
		}
		var want any
		if err := json.Unmarshal([]byte(c.want), &want); err != nil {
			t.Fatal(err)
		}
		normal, err := json.Marshal(want)
		if err != nil {
			t.Fatal(err)
		}
		if string(got) != string(normal) {
			t.Errorf("%s: %s\n got %s\nwant %s", c.module, c.expression, got, normal)
		}
	}
	p.Silent()
}
