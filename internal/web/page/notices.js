// What a person has to see to: held deletions, problems, and warnings.

import { copyButton } from './copy.js';
import { button, el } from './dom.js';
import { icon } from './icons.js';
import { count, visible } from './text.js';

const shownAtFirst = 12;

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
      ? el('p', {}, 'Approval can\u2019t help here: mend the reason.')
      : el('div', { class: 'approve' },
        el('p', {}, 'To delete exactly these, once:'),
        el('div', { class: 'command' }, el('code', { tabindex: '0' }, visible(command)), copyButton(command, 'Copy', 'Copy the command that approves the held deletions')));
    const line = (h) => el('li', {},
      button(visible(`${h.namespace}/${h.name}`), { class: 'link' }, () => this.#open(`${h.namespace}/${h.name}`)),
      el('span', { class: 'message' }, visible(h.reason)));
    return this.#section('held', 'held', `Held deletions`, held, line, remedy);
  }

  #places(id, title, places) {
    if (places.length === 0) return null;
    const line = (p) => el('li', {},
      el('code', { class: 'place' }, visible(where(p))),
      el('span', { class: 'message' }, visible(p.message)));
    return this.#section(id, id === 'problems' ? 'failing' : 'warning', title, places, line, null);
  }

  #section(id, sign, title, all, line, remedy) {
    const whole = this.#whole.has(id) || all.length <= shownAtFirst + 1;
    const list = el('ul', {}, ...(whole ? all : all.slice(0, shownAtFirst)).map(line));
    const more = whole ? null : button(`Show all ${count(all.length, 'entry', 'entries')}`, { class: 'quiet' }, () => {
      this.#whole.add(id);
      list.replaceChildren(...all.map(line));
      list.tabIndex = -1;
      list.focus();
      more.remove();
    });
    return el('section', { class: `notice ${id}`, 'aria-labelledby': `${id}-title` },
      el('h2', { id: `${id}-title` }, icon(sign), `${title} `, el('span', { class: 'number' }, all.length.toLocaleString('en'))),
      remedy, list, more);
  }
}

function where(p) {
  return p.path + (p.line > 0 ? `:${p.line}` : '') + (p.line > 0 && p.column > 0 ? `:${p.column}` : '');
}
