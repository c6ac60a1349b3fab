// One object: what it should be beside what it is, who owns each field, and what was
// decided about it. That isn't in the report, so it is fetched when somebody looks.

import { now, since, until } from './clock.js';
import { button, el } from './dom.js';
import { versionOf } from './grid.js';
import { icon } from './icons.js';
import { clockTime, visible } from './text.js';

export class Detail {
  #host;
  #onClose;
  #key = '';
  #row = undefined;
  #object = null;
  #trouble = '';
  #request = null;
  #title = el('h2', { id: 'detail-title', tabindex: '-1' });
  #body = el('div', { class: 'content' });

  constructor(host, { onClose }) {
    this.#host = host;
    this.#onClose = onClose;
  }

  get key() { return this.#key; }

  /** Opens an object. row is what the table has of it, if anything. */
  open(key, row, focus) {
    if (this.#key !== key) {
      this.#object = null;
      this.#trouble = '';
    }
    this.#key = key;
    this.#row = row;
    if (this.#host.childElementCount === 0) {
      const close = button('Close', { class: 'quiet', 'aria-keyshortcuts': 'Escape' }, () => this.#onClose());
      this.#host.append(el('section', { class: 'detail', 'aria-labelledby': 'detail-title' }, el('header', {}, this.#title, close), this.#body));
    }
    this.#render();
    if (focus) {
      this.#title.focus({ preventScroll: true });
      this.reveal();
    }
    this.#fetch();
  }

  /** Brings the object in sight, with room for what is yet to come of it. */
  reveal() {
    if (this.#host.getBoundingClientRect().top > innerHeight * 0.4) this.#host.scrollIntoView();
  }

  /** Takes over that what the table has of the object has changed. */
  refresh(row) {
    this.#row = row;
    this.#render();
    this.#fetch();
  }

  close() {
    this.#request?.abort();
    this.#key = '';
    this.#host.replaceChildren();
  }

  async #fetch() {
    this.#request?.abort();
    const request = new AbortController();
    this.#request = request;
    const slash = this.#key.indexOf('/');
    const path = [this.#key.slice(0, slash), this.#key.slice(slash + 1)].map(encodeURIComponent).join('/');
    try {
      const answer = await fetch(`api/objects/${path}`, { signal: request.signal, cache: 'no-store' });
      const object = answer.ok ? await answer.json() : null;
      const trouble = answer.ok ? '' : (await answer.text()).trim();
      if (this.#request !== request) return;
      this.#object = object;
      this.#trouble = trouble;
    } catch (error) {
      if (error.name === 'AbortError' || this.#request !== request) return;
      this.#trouble = 'The controller can\u2019t be asked about it now.';
    }
    this.#render();
  }

  #render() {
    const name = this.#key.slice(this.#key.indexOf('/') + 1);
    this.#title.replaceChildren(el('span', { class: 'dim' }, visible(this.#key.slice(0, -name.length))), visible(name));
    const parts = [];
    if (this.#row) parts.push(standing(this.#row));
    if (this.#trouble) parts.push(el('p', { class: 'trouble', role: 'status' }, visible(this.#trouble)));
    if (this.#object) parts.push(identity(this.#object, this.#row), ...fields(this.#object, this.#row), decisions(this.#object));
    else if (!this.#trouble) parts.push(el('p', { class: 'dim' }, 'Loading'));
    const at = this.#body.scrollTop;
    this.#body.replaceChildren(...parts);
    this.#body.scrollTop = at;
  }
}

function standing(row) {
  const { item } = row;
  return el('div', { class: 'standing' },
    el('p', { class: 'label' }, icon(row.state), el('b', {}, row.label), el('span', { class: 'dim' }, ` ${item.action} ${visible(item.target)}`)),
    el('p', {}, visible(item.reason)),
    item.due ? el('p', { class: 'dim' }, 'Looked at again ', until(item.due * 1000), ', or as soon as something happens') : null);
}

function identity(o, row) {
  const versions = row?.item.resource_versions;
  const pairs = [
    ['File', o.source ? el('code', {}, visible(o.source)) : o.usable ? 'no file names it' : 'its file can\u2019t be used'],
    ['Cluster', o.exists ? (o.deleting ? 'being deleted' : 'exists') + (o.configmap ? ', with its ConfigMap' : ', without its ConfigMap') : 'doesn\u2019t exist'],
    o.uid ? ['uid', el('code', {}, visible(o.uid))] : null,
    row && row.item.generation > 0 ? ['Generation', `${row.item.generation}, observed ${row.item.observed_generation}`] : null,
    versions ? ['Version', el('code', {}, versionOf(versions.webservice)), ' of the WebService, ', el('code', {}, versionOf(versions.configmap)), ' of the ConfigMap'] : null,
  ];
  return el('dl', { class: 'facts' }, ...pairs.filter((pair) => pair !== null).map(([name, ...value]) => el('div', {}, el('dt', {}, name), el('dd', {}, ...value))));
}

// Roles are said outright: on narrow screens rows are stacked, and a browser may take
// that for no table at all.
function fields(o, row) {
  const left = leftAlone(o, row);
  const groups = Map.groupBy(o.fields, (field) => field.target);
  return [...groups].map(([target, list]) => {
    const differing = list.filter((field) => field.differs);
    const sorted = differing.concat(list.filter((field) => !field.differs));
    const said = differing.length > 0 ? `${differing.length} of ${list.length} fields differ` : left ? '' : 'as it should be';
    const head = ['Field', 'Should be', 'Is', 'Owned by'].map((name) => el('th', { role: 'columnheader', scope: 'col' }, name));
    return el('section', { class: 'fields' },
      el('h3', {}, visible(target), el('span', { class: 'dim' }, ` ${[said, left].filter((words) => words !== '').join('; ')}`)),
      el('table', { role: 'table', 'aria-label': `Fields of ${visible(target)}` },
        el('thead', { role: 'rowgroup' }, el('tr', { role: 'row' }, ...head)),
        el('tbody', { role: 'rowgroup' }, ...sorted.map(fieldRow))));
  });
}

// Why nothing is compared or done: such an object isn't "as it should be". '' where it
// is seen to.
function leftAlone(o, row) {
  if (!o.usable) return 'kept as it is: its file can\u2019t be used';
  if (row?.state === 'held') return 'kept while its deletion is held';
  if (row?.state === 'suspended') return 'left alone while it is suspended';
  return o.source === '' ? 'no file says how it should be' : '';
}

function fieldRow(f) {
  return el('tr', { role: 'row', class: f.differs ? 'differs' : '' },
    el('th', { role: 'rowheader', scope: 'row', 'aria-label': visible(f.path) + (f.differs ? ' differs' : '') }, breakable(visible(f.path)), f.differs ? el('span', { class: 'mark' }, ' differs') : null),
    el('td', { role: 'cell', 'data-label': 'Should be' }, value(f.desired, 'not stated')),
    el('td', { role: 'cell', 'data-label': 'Is' }, value(f.actual, 'not there')),
    el('td', { role: 'cell', 'data-label': 'Owned by' }, f.owners.length > 0 ? visible(f.owners.join(', ')) : el('span', { class: 'dim' }, 'nobody')));
}

function value(text, none) {
  return text === null ? el('span', { class: 'dim' }, none) : el('code', {}, visible(text) || '""');
}

// A path may be broken where a reader would pause. Screen readers would do so aloud.
function breakable(path) {
  const out = el('code');
  for (const part of path.split(/(?<=[./[])/)) out.append(part, el('wbr'));
  return out;
}

function decisions(o) {
  const lines = o.decisions.map((d) => el('li', {},
    el('span', { class: 'when' }, el('time', { datetime: d.at, title: d.at }, clockTime(Date.parse(d.at), now())), ' \u00b7 ', since(Date.parse(d.at))),
    el('span', { class: 'what' }, icon(d.is_error ? 'failing' : d.action === 'requeue' ? 'waiting' : d.action === 'noop' ? 'good' : 'changed'),
      el('b', {}, d.is_error ? 'failed' : d.action), ` ${visible(d.target)}`),
    el('span', { class: 'message' }, visible(d.reason))));
  return el('section', { class: 'decisions' },
    el('h3', {}, 'Last decisions'),
    lines.length > 0 ? el('ol', {}, ...lines) : el('p', { class: 'dim' }, 'None yet.'));
}
