// Search, filters and order of the table.

import { el, setText } from './dom.js';
import { icon } from './icons.js';
import { actions, states } from './filter.js';

const sortNames = [
  ['name', 'Name'], ['state', 'State'], ['action', 'Action'], ['reason', 'Reason'],
  ['file', 'File'], ['generation', 'Generation'], ['versions', 'Version'],
];

/** The form above the table. onChange is called with what somebody has changed. */
export class Tools {
  #onChange;
  #search;
  #action;
  #sort;
  #chips = new Map();

  constructor(form, onChange) {
    this.#onChange = onChange;
    form.addEventListener('submit', (event) => event.preventDefault());
    this.#search = el('input', { type: 'search', id: 'search', placeholder: 'Name, reason or file', autocomplete: 'off', spellcheck: 'false', 'aria-keyshortcuts': '/' });
    this.#search.addEventListener('input', () => onChange({ text: this.#search.value }));
    this.#action = select([['', 'Any'], ...actions.map((action) => [action, action])], (value) => onChange({ action: value }));
    const orders = sortNames.flatMap(([id, name]) => [[`${id} up`, `${name} \u2191`], [`${id} down`, `${name} \u2193`]]);
    this.#sort = select([['trouble up', 'Trouble first'], ...orders], (value) => {
      const [sort, order] = value.split(' ');
      onChange({ sort, direction: order === 'up' ? 1 : -1 });
    });
    const chips = el('div', { class: 'chips', role: 'group', 'aria-label': 'State' }, this.#chip('', 'All'), ...states.map((s) => this.#chip(s.id, s.label)));
    form.append(
      el('label', { class: 'search' }, el('span', { class: 'unseen' }, 'Search WebServices'), this.#search),
      el('label', {}, 'Action ', this.#action),
      el('label', {}, 'Order ', this.#sort),
      chips);
  }

  #chip(state, label) {
    const number = el('span', { class: 'number' });
    const node = el('button', { type: 'button', 'aria-pressed': 'false' }, state === '' ? null : icon(state), label, ' ', number);
    node.addEventListener('click', () => this.#onChange({ state: node.getAttribute('aria-pressed') === 'true' ? '' : state }));
    this.#chips.set(state, { node, number });
    return node;
  }

  /** Shows what is looked at, and how many of the rows that are like the search each
   *  state has. exist are those that there are at all. */
  show(place, counts, exist) {
    if (this.#search.value !== place.text) this.#search.value = place.text;
    this.#action.value = place.action;
    this.#sort.value = `${place.sort} ${place.direction > 0 ? 'up' : 'down'}`;
    const all = Object.values(counts).reduce((sum, n) => sum + n, 0);
    for (const [state, { node, number }] of this.#chips) {
      setText(number, (state === '' ? all : counts[state]).toLocaleString('en'));
      node.setAttribute('aria-pressed', String(place.state === state));
      // What just isn't like the search keeps its place: typing moves nothing.
      node.hidden = exist[state] === 0 && place.state !== state;
    }
  }

  focus() {
    this.#search.focus();
    this.#search.select();
  }
}

function select(options, onChange) {
  const node = el('select', {}, ...options.map(([value, label]) => el('option', { value }, label)));
  node.addEventListener('change', () => onChange(node.value));
  return node;
}
