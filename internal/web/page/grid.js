// The table of WebServices. Only the rows that are in sight are on the page, so that
// 10,000 of them scroll as ten do. The focus stays on the grid itself, and
// aria-activedescendant says which row is meant: rows come and go under it.

import { el, setText } from './dom.js';
import { setIcon } from './icons.js';
import { visible } from './text.js';

const columns = [
  ['state', 'State'], ['name', 'WebService'], ['action', 'Action'], ['reason', 'Last decision and why'],
  ['file', 'File'], ['generation', 'Generation'], ['versions', 'Versions', 'The WebService\u2019s resourceVersion \u00b7 its ConfigMap\u2019s'],
];
const beyond = 6; // rows on either side of what is in sight

export class Grid {
  #grid;
  #body;
  #heads = new Map();
  #nodes = [];
  #rows = [];
  #active = 0;
  #open = '';
  #rowHeight = 40;
  #planned = 0;
  #onOpen;

  /** onOpen is called with a row's key, onSort with the name of a column. */
  constructor(host, { onOpen, onSort }) {
    this.#onOpen = onOpen;
    const heads = columns.map(([id, label, title], at) => {
      const sort = el('button', { type: 'button', title }, label);
      sort.addEventListener('click', () => onSort(id));
      const head = el('div', { role: 'columnheader', class: id, 'aria-colindex': at + 1 }, sort);
      this.#heads.set(id, head);
      return head;
    });
    this.#body = el('div', { role: 'rowgroup', class: 'rows' });
    this.#grid = el('div', { role: 'grid', class: 'grid', id: 'rows', tabindex: '0', 'aria-labelledby': 'services-title', 'aria-colcount': columns.length },
      el('div', { role: 'rowgroup' }, el('div', { role: 'row', class: 'head', 'aria-rowindex': 1 }, ...heads)), this.#body);
    this.#grid.addEventListener('keydown', (event) => this.#key(event));
    this.#grid.addEventListener('focus', () => this.#render());
    this.#body.addEventListener('click', (event) => this.#click(event));
    addEventListener('scroll', () => this.#plan(), { passive: true });
    new ResizeObserver(() => this.#measure()).observe(this.#grid);
    addEventListener('resize', () => this.#measure());
    host.append(this.#grid);
    this.#measure();
  }

  /** Shows rows, in their order. The row that is active stays so where it is there. */
  show(rows, { sort, direction }) {
    const was = this.#rows[this.#active]?.key;
    if (was !== rows[this.#active]?.key) this.#active = Math.max(0, rows.findIndex((row) => row.key === was));
    this.#rows = rows;
    this.#grid.setAttribute('aria-rowcount', rows.length + 1);
    this.#grid.hidden = rows.length === 0;
    for (const [id, head] of this.#heads) {
      if (id === sort) head.setAttribute('aria-sort', direction > 0 ? 'ascending' : 'descending');
      else head.removeAttribute('aria-sort');
    }
    this.#body.style.height = `${rows.length * this.#rowHeight}px`;
    this.#render();
  }

  /** Marks the row whose object is open; '' is none. */
  mark(key) {
    this.#open = key;
    const at = this.#rows.findIndex((row) => row.key === key);
    if (at >= 0) this.#active = at;
    this.#render();
  }

  focus() {
    this.#grid.focus({ preventScroll: true });
    this.#reveal();
  }

  #measure() {
    const now = parseFloat(getComputedStyle(this.#grid).getPropertyValue('--row'));
    if (now > 0) this.#rowHeight = now;
    this.#body.style.height = `${this.#rows.length * this.#rowHeight}px`;
    for (const node of this.#nodes) node.at = -1;
    this.#plan();
  }

  // At most once a frame.
  #plan() {
    this.#planned ||= requestAnimationFrame(() => this.#render());
  }

  #render() {
    cancelAnimationFrame(this.#planned);
    this.#planned = 0;
    const above = -this.#body.getBoundingClientRect().top;
    const first = Math.max(0, Math.floor(above / this.#rowHeight) - beyond);
    const end = Math.min(this.#rows.length, Math.ceil((above + innerHeight) / this.#rowHeight) + beyond);
    const needed = Math.max(0, end - first);
    while (this.#nodes.length < needed) this.#nodes.push(this.#makeRow());
    for (const spare of this.#nodes.splice(needed)) spare.row.remove();
    for (let i = 0; i < needed; i++) this.#fill(this.#nodes[i], first + i);
    const inSight = this.#active >= first && this.#active < end;
    if (inSight) this.#grid.setAttribute('aria-activedescendant', `row-${this.#active}`);
    else this.#grid.removeAttribute('aria-activedescendant');
  }

  #makeRow() {
    const cells = Object.fromEntries(columns.map(([id], at) => [id, el('div', { role: 'gridcell', class: id, 'aria-colindex': at + 1 })]));
    const sign = el('span', { class: 'sign' });
    const label = el('span');
    cells.state.append(sign, label);
    const namespace = el('span', { class: 'dim' });
    const name = el('b');
    cells.name.append(namespace, name);
    const row = el('div', { role: 'row' }, ...Object.values(cells));
    this.#body.append(row);
    return { row, cells, sign, label, namespace, name, at: -1, shown: null };
  }

  #fill(node, at) {
    const row = this.#rows[at];
    if (node.at !== at) {
      node.at = at;
      node.row.id = `row-${at}`;
      node.row.setAttribute('aria-rowindex', at + 2);
      node.row.style.transform = `translateY(${at * this.#rowHeight}px)`;
    }
    node.row.setAttribute('aria-selected', String(row.key === this.#open));
    node.row.classList.toggle('active', at === this.#active);
    if (node.shown === row) return;
    node.shown = row;
    const { item } = row;
    setIcon(node.sign, row.state);
    node.row.dataset.state = row.state;
    setText(node.label, row.label);
    setText(node.namespace, `${visible(item.namespace)}/`);
    setText(node.name, visible(item.name));
    setText(node.cells.action, item.action);
    setText(node.cells.reason, visible(item.reason));
    setText(node.cells.file, visible(item.source) || (item.unusable ? 'unusable file' : 'no file'));
    setText(node.cells.generation, generation(item));
    setText(node.cells.versions, versions(item));
    node.cells.name.title = visible(row.key);
    node.cells.reason.title = visible(item.reason);
    node.cells.file.title = visible(item.source);
    node.cells.versions.title = `WebService ${versionOf(item.resource_versions.webservice)}, ConfigMap ${versionOf(item.resource_versions.configmap)}`;
  }

  #key(event) {
    if (event.target !== this.#grid || event.altKey || event.ctrlKey || event.metaKey) return;
    const page = Math.max(1, Math.floor(innerHeight / this.#rowHeight) - 2);
    const moves = { ArrowDown: 1, ArrowUp: -1, PageDown: page, PageUp: -page, Home: -Infinity, End: Infinity };
    if (event.key in moves) {
      this.#active = Math.min(this.#rows.length - 1, Math.max(0, this.#active + moves[event.key]));
      this.#reveal();
    } else if ((event.key === 'Enter' || event.key === ' ') && this.#rows[this.#active]) {
      this.#onOpen(this.#rows[this.#active].key);
    } else {
      return;
    }
    event.preventDefault();
  }

  // reveal scrolls as little as it takes to have the active row in sight.
  #reveal() {
    const top = this.#body.getBoundingClientRect().top + this.#active * this.#rowHeight;
    const head = this.#grid.firstElementChild.getBoundingClientRect().height + 4;
    if (top < head) scrollBy(0, top - head);
    else if (top + this.#rowHeight > innerHeight) scrollBy(0, top + this.#rowHeight - innerHeight + 4);
    this.#render();
  }

  #click(event) {
    if (!getSelection().isCollapsed) return; // somebody selects text
    const node = this.#nodes.find(({ row }) => row.contains(event.target));
    if (node === undefined) return;
    this.#active = node.at;
    this.#onOpen(this.#rows[node.at].key);
  }
}

function generation(item) {
  if (item.generation === 0) return '\u2013';
  const { generation: is, observed_generation: observed } = item;
  return is === observed ? String(is) : `${is}, observed ${observed}`;
}

function versions(item) {
  const { webservice, configmap } = item.resource_versions;
  return `${webservice.after || '\u2013'} \u00b7 ${configmap.after || '\u2013'}`;
}

/** A version, with the one before where it has moved in the cycle. */
export function versionOf({ before, after }) {
  if (before === after) return after || 'none';
  return `${before || 'none'} \u2192 ${after || 'none'}`;
}
