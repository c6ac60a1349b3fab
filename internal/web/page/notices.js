// What a person has to see to: held deletions, problems, and warnings.

import { copyButton } from './copy.js';
import { button, el } from './dom.js';
import { icon } from './icons.js';
import { count, visible } from './text.js';

const shownAtFirst = 12;
const namesAtFirst = 30;

/** The part of the page between the verdict and the table. */
export class Notices {
  #host = document.getElementById('notices');
  #whole = new Set(); // the lists of which all is shown
  #shown = null;
  #open;

  /** open is called with the key of an object that somebody wants to see. */
  constructor(open) {
    this.#open = open;
  }

  show(store) {
    const { problems, warnings, held } = store;
    const command = store.report?.held_command ?? '';
    const before = this.#shown;
    if (before && before.problems === problems && before.warnings === warnings && before.held === held && before.command === command) return;
    this.#shown = { problems, warnings, held, command };
    this.#host.replaceChildren(...[this.#held(held, command), this.#places('problems', 'Problems', problems), this.#places('warnings', 'Warnings', warnings)]
      .filter((section) => section !== null));
  }

  #held(held, command) {
    if (held.length === 0) return null;
    const remedy = command === ''
      ? el('p', {}, 'Approval can\u2019t help here: they go on when the reason is gone.')
      : el('div', { class: 'approve' },
        el('p', {}, 'To keep them, bring their files back. To delete exactly these, once:'),
        el('div', { class: 'command' }, el('code', { tabindex: '0' }, visible(command)), copyButton(command, 'Copy', 'Copy the command that approves the held deletions')),
        el('p', { class: 'dim' }, 'It is to be run where the controller runs: in a pod, by ', el('code', {}, 'kubectl exec'), ' in the active pod\u2019s container \u201ccontroller\u201d.'));
    return this.#section('held', 'held', 'Held deletions', held, (list) => this.#byReason(list), remedy, namesAtFirst);
  }

  // Mostly all are held for one reason, which is said once.
  #byReason(held) {
    const name = (h) => el('li', {}, button(visible(`${h.namespace}/${h.name}`), { class: 'link' }, () => this.#open(`${h.namespace}/${h.name}`)));
    return [...Map.groupBy(held, (h) => h.reason)].map(([reason, list]) => el('li', { class: 'reason' },
      el('p', { class: 'message' }, visible(reason)), el('ul', { class: 'names' }, ...list.map(name))));
  }

  #places(id, title, places) {
    if (places.length === 0) return null;
    const line = (p) => el('li', {},
      el('code', { class: 'place' }, visible(where(p))),
      el('span', { class: 'message' }, visible(p.message)));
    return this.#section(id, id === 'problems' ? 'failing' : 'warning', title, places, (list) => list.map(line), null, shownAtFirst);
  }

  // lines makes what the list has of some entries.
  #section(id, sign, title, all, lines, remedy, atFirst) {
    const whole = this.#whole.has(id) || all.length <= atFirst + 1;
    const list = el('ul', {}, ...lines(whole ? all : all.slice(0, atFirst)));
    const more = whole ? null : button(`Show all ${count(all.length, 'entry', 'entries')}`, { class: 'quiet' }, () => {
      this.#whole.add(id);
      list.replaceChildren(...lines(all));
      list.tabIndex = -1;
      list.focus();
      more.remove();
    });
    return el('section', { class: `notice ${id}`, 'aria-labelledby': `${id}-title` },
      el('h2', { id: `${id}-title`, tabindex: '-1' }, icon(sign), `${title} `, el('span', { class: 'number' }, all.length.toLocaleString('en'))),
      remedy, list, more);
  }
}

function where(p) {
  return p.path + (p.line > 0 ? `:${p.line}` : '') + (p.line > 0 && p.column > 0 ? `:${p.column}` : '');
}
