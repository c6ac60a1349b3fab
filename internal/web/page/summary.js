// The top of the page: converged or not and what that waits for, and the facts
// beside it.

import { now, since } from './clock.js';
import { el, setText } from './dom.js';
import { setIcon } from './icons.js';
import { clockTime, count, sentence, span, visible } from './text.js';

/** How things stand, in a word and a sentence. */
export function verdictOf(store) {
  const r = store.report;
  if (r === null) {
    return { sign: 'loading', state: 'No report yet', why: sentence(visible(store.notReady)) || 'The controller has just started.' };
  }
  if (store.notReady !== '') {
    const before = store.list.length > 0 ? ' Below is how things stood when it last could work.' : '';
    return { sign: 'failing', state: 'Not ready', why: `${sentence(visible(store.notReady))}.${before}` };
  }
  if (r.role === 'standby') {
    const who = r.holder ? `${visible(r.holder)} holds the lease and does the work` : 'Nobody holds the lease yet';
    return { sign: 'standby', state: 'Standing by', why: `${who}; this process takes over when that ends.` };
  }
  if (r.converged) return { sign: 'good', state: 'Converged', why: inOrder(r.summary) };
  return { sign: waits(r.summary), state: 'Not converged', why: sentence(visible(r.waiting_for ?? 'the cycle to end')), waits: true };
}

function inOrder(summary) {
  if (summary.total === 0) return 'There is nothing to be done: the source may be empty, and it is.';
  const left = summary.suspended > 0 ? `, ${summary.suspended.toLocaleString('en')} of them suspended` : '';
  return `${count(summary.total, 'WebService is', 'WebServices are')} as the files say${left}.`;
}

function waits(summary) {
  if (summary.errors > 0 || summary.problems > 0) return 'failing';
  return summary.held > 0 ? 'held' : 'waiting';
}

/** The top of the page. */
export class Summary {
  #verdict = document.getElementById('verdict');
  #sign = document.getElementById('sign');
  #state = document.getElementById('state');
  #waits = document.getElementById('waits');
  #why = document.getElementById('why');
  #facts = document.getElementById('facts');
  #live = document.getElementById('live');
  #said = '';

  show(store) {
    const { sign, state, why, waits: isWaiting = false } = verdictOf(store);
    setIcon(this.#sign, sign);
    this.#verdict.dataset.sign = sign;
    setText(this.#state, state);
    setText(this.#why, why);
    this.#waits.hidden = !isWaiting;
    document.title = store.report ? `${state} · ${visible(store.report.source.name)}` : state;
    // Only a change of state is said aloud: what is waited for changes too often.
    if (this.#said !== state) {
      this.#said = state;
      setText(this.#live, `${state}. ${isWaiting ? 'Waiting for: ' : ''}${why}`);
    }
    if (store.report) this.#facts.replaceChildren(...facts(store.report));
  }
}

function facts(r) {
  const s = r.source;
  return [
    fact('Source', el('code', {}, visible(s.path)), `, named ${visible(s.name)}`),
    fact('Revision', s.revision ? el('code', { title: s.revision }, visible(s.revision.slice(0, 12))) : 'no git revision'),
    fact('Files', `${count(s.files, 'file')}, ${count(s.objects, 'WebService')}`, s.skipped > 0 ? `, ${s.skipped} of other kinds` : null),
    fact('Last scan', s.last_scan ? since(Date.parse(s.last_scan)) : 'none yet', `, one at least every ${span(s.scan_interval_seconds)}`),
    fact('Changes are noticed by', watching(s)),
    fact('Role', sentence(r.role), r.holder ? `, the lease is held by ${visible(r.holder)}` : null),
    fact('Cycle', cycle(r)),
    fact('Requests of the cycle', `${count(r.requests.reads, 'read')}, ${count(r.requests.writes, 'write')}`),
    fact('Version', visible(r.controller_version)),
  ];
}

function fact(name, ...values) {
  return el('div', {}, el('dt', {}, name), el('dd', {}, ...values));
}

function watching(s) {
  const why = s.watch_reason ? `: ${visible(s.watch_reason)}` : '';
  return `${visible(s.watch_mode || 'nothing yet')}${why}`;
}

function cycle(r) {
  if (r.cycle === 0) return 'none yet';
  const started = clockTime(Date.parse(r.started), now());
  const length = r.finished ? `took ${span(r.duration_seconds)}` : 'lasts';
  return `${r.cycle}, by ${r.trigger}, ${started}, ${length}`;
}
