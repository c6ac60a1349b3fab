// The top of the page: converged or not and what that waits for, and the facts
// beside it.

import { now, since } from './clock.js';
import { button, el, setText } from './dom.js';
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
    const what = r.holder ? 'decides nothing while another writes, and takes over when that ends' : 'decides nothing before it holds it';
    return { sign: 'standby', state: 'Standing by', why: `${who}. This process reads files and cluster, ${what}.` };
  }
  if (r.converged) return { sign: 'good', state: 'Converged', why: inOrder(r.summary) };
  return { sign: waits(store), state: 'Not converged', why: sentence(visible(waitedFor(r))), waits: true };
}

// The command that approves is in a box of its own, to be copied.
function waitedFor(r) {
  const text = r.waiting_for ?? 'the cycle to end';
  const command = r.held_command ? ` (${r.held_command})` : '';
  return command !== '' && text.endsWith(command) ? text.slice(0, -command.length) : text;
}

function inOrder(summary) {
  if (summary.total === 0) return 'There is nothing to be done: the source may be empty, and it is.';
  const left = summary.suspended > 0 ? `, ${summary.suspended.toLocaleString('en')} of them suspended` : '';
  return `${count(summary.total, 'WebService is', 'WebServices are')} as the files say${left}.`;
}

function waits({ report: { summary }, sourceFailed }) {
  if (sourceFailed || summary.errors > 0 || summary.problems > 0) return 'failing';
  return summary.held > 0 ? 'held' : 'waiting';
}

/** All that isn't in order, each with how many there are and where to look: the state
 *  of rows, or a section of the page. The verdict names only what comes first. */
export function troublesOf({ report: { summary }, counts }) {
  return [
    { n: counts.failing, words: 'failing', state: 'failing' },
    { n: counts.unusable, words: counts.unusable === 1 ? 'file unusable' : 'files unusable', state: 'unusable' },
    { n: summary.held, words: 'held', section: 'held' },
    { n: counts.waiting, words: 'waiting', state: 'waiting' },
    { n: summary.problems, words: summary.problems === 1 ? 'problem' : 'problems', section: 'problems' },
  ].filter(({ n }) => n > 0);
}

/** The top of the page. */
export class Summary {
  #verdict = document.getElementById('verdict');
  #sign = document.getElementById('sign');
  #state = document.getElementById('state');
  #waits = document.getElementById('waits');
  #why = document.getElementById('why');
  #troubles = document.getElementById('troubles');
  #listed = '';
  #facts = document.getElementById('facts');
  #live = document.getElementById('live');
  #said = '';
  #toState;

  /** toState is called with a state whose objects somebody wants to see. */
  constructor(toState) {
    this.#toState = toState;
  }

  show(store) {
    const { sign, state, why, waits: isWaiting = false } = verdictOf(store);
    setIcon(this.#sign, sign);
    this.#verdict.dataset.sign = sign;
    setText(this.#state, state);
    setText(this.#why, why);
    this.#waits.hidden = !isWaiting;
    this.#list(isWaiting ? troublesOf(store) : []);
    document.title = store.report ? `${state} · ${visible(store.report.source.name)}` : state;
    // Only a change of state is said aloud: what is waited for changes too often.
    if (this.#said !== state) {
      this.#said = state;
      setText(this.#live, `${state}. ${isWaiting ? 'Waiting for: ' : ''}${why}`);
    }
    if (store.report) this.#facts.replaceChildren(...facts(store.report));
  }

  // What has the focus stays on the page while nothing changes.
  #list(troubles) {
    const listed = JSON.stringify(troubles);
    if (listed === this.#listed) return;
    this.#listed = listed;
    this.#troubles.hidden = troubles.length === 0;
    this.#troubles.replaceChildren(...troubles.map(({ n, words, state, section }) =>
      el('li', {}, button(`${n.toLocaleString('en')} ${words}`, { class: 'link' }, () => (state ? this.#toState(state) : toSection(section))))));
  }
}

function toSection(name) {
  const title = document.getElementById(`${name}-title`);
  title?.scrollIntoView();
  title?.focus({ preventScroll: true });
}

function facts(r) {
  const s = r.source;
  return [
    fact('Source', el('code', {}, visible(s.path)), `, named ${visible(s.name)}`),
    fact('Revision', s.revision ? el('code', { title: s.revision }, visible(s.revision.slice(0, 12))) : 'no git revision'),
    fact('Files', `${count(s.files, 'file')}, ${count(s.objects, 'WebService')}`, s.skipped > 0 ? `, ${s.skipped} of other kinds` : null),
    fact('Last scan', s.last_scan ? since(Date.parse(s.last_scan)) : 'none yet', `, one at least every ${span(s.scan_interval_seconds)}`),
    fact('Changes are noticed by', watching(s)),
    fact('Role', role(r)),
    fact('Cycle', cycle(r)),
    fact('Requests of the cycle', `${count(r.requests.reads, 'read')}, ${count(r.requests.writes, 'write')}`),
    fact('Version', visible(r.controller_version)),
  ];
}

function fact(name, ...values) {
  return el('div', {}, el('dt', {}, name), el('dd', {}, ...values));
}

// Who is active holds the lease.
function role(r) {
  const is = sentence(r.role);
  if (!r.holder) return is;
  return r.role === 'active' ? `${is}: this process holds the lease (${visible(r.holder)})` : `${is}: ${visible(r.holder)} holds the lease`;
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
