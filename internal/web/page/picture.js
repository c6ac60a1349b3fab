// The picture of recent cycles: what each took and wrote, and when things weren't
// converged. Everything in it is in a table, too.

import { now } from './clock.js';
import { el, setText, svg } from './dom.js';
import { clockTime, count, span } from './text.js';

const height = 92;
const middle = 58; // durations go up from here, writes down
const left = 4;

/** The picture, drawn anew where the page's width or what it shows changes. */
export class Picture {
  #section = document.getElementById('picture');
  #host = document.getElementById('drawings');
  #summary = el('p', { class: 'said' });
  #bars = el('div', { class: 'drawing' });
  #strip = el('div', { class: 'drawing' });
  #stripNote = el('p', { class: 'said' });
  #stripLegend = el('span', { class: 'legend' });
  #stripFigure;
  #table = el('tbody');
  #details;
  #store = null;
  #drawn = '';

  constructor() {
    const head = ['Cycle', 'Began', 'Trigger', 'Took', 'Writes', 'Healed'].map((name) => el('th', { scope: 'col' }, name));
    this.#details = el('details', {},
      el('summary', {}, 'As a table'),
      el('div', { class: 'wide', tabindex: '0', role: 'region', 'aria-label': 'Recent cycles as a table' },
        el('table', {}, el('thead', {}, el('tr', {}, ...head)), this.#table)));
    this.#details.addEventListener('toggle', () => this.#fillTable());
    this.#stripFigure = el('figure', {}, this.#strip, el('figcaption', {}, this.#stripLegend, this.#stripNote));
    this.#host.append(
      el('figure', {}, this.#bars, el('figcaption', {}, legend(), this.#summary)),
      this.#stripFigure,
      this.#details);
    new ResizeObserver(() => this.#draw()).observe(this.#host);
  }

  show(store) {
    this.#store = store;
    // Who stands by isn't to make anything converge.
    this.#stripFigure.hidden = store.report.role === 'standby';
    this.#section.hidden = store.cycles.length === 0 && (this.#stripFigure.hidden || store.notConverged.length === 0);
    this.#draw();
  }

  // As time goes by the strip changes, but not within a pixel of it.
  tick() {
    if (this.#store && Math.floor(now() / 5000) !== this.#beat) this.#draw();
  }

  #beat = 0;

  #draw() {
    const store = this.#store;
    const width = this.#host.clientWidth;
    if (store === null || width === 0) return;
    this.#beat = Math.floor(now() / 5000);
    const { cycles, notConverged } = store;
    const state = JSON.stringify([width, cycles.length, cycles.at(-1)?.cycle]);
    if (state !== this.#drawn) {
      this.#drawn = state;
      setText(this.#summary, summaryOf(cycles));
      this.#bars.replaceChildren(bars(cycles, width));
      this.#fillTable();
    }
    const from = begin(cycles, notConverged);
    setText(this.#stripNote, spansOf(notConverged, from));
    this.#explain(notConverged);
    this.#strip.replaceChildren(strip(notConverged, from, width));
  }

  #explain(spans) {
    const there = new Set(spans.map(kindOf)).add('together');
    const kinds = spans.length === 0 ? [] : Object.keys(meaning).filter((kind) => there.has(kind));
    if (this.#stripLegend.dataset.kinds === kinds.join()) return;
    this.#stripLegend.dataset.kinds = kinds.join();
    this.#stripLegend.replaceChildren(...kinds.map((kind) => el('span', {}, sign(kind), meaning[kind])));
  }

  #fillTable() {
    if (!this.#details.open || this.#store === null) return;
    this.#table.replaceChildren(...this.#store.cycles.toReversed().map((c) => el('tr', {},
      el('td', {}, String(c.cycle)), el('td', {}, clockTime(Date.parse(c.started), now())), el('td', {}, c.trigger),
      el('td', {}, span(c.duration_seconds)), el('td', {}, c.writes.toLocaleString('en')), el('td', {}, c.healed.toLocaleString('en')))));
  }
}

const meaning = { together: 'converged', apart: 'not converged', brief: 'not converged, for less than a second' };

// A moment is what each edit of a file takes: nobody has to see to that.
function kindOf(s) {
  return s.to && Date.parse(s.to) - Date.parse(s.from) < 1000 ? 'brief' : 'apart';
}

const shapes = {
  healed: () => diamond(5, 5),
  brief: () => svg('rect', { class: 'brief', x: 4, y: 0, width: 1.5, height: 10 }),
  apart: () => svg('rect', { class: 'apart', x: 0.5, y: 0.5, width: 9, height: 9 }),
  together: () => svg('rect', { class: 'together', x: 0, y: 0, width: 10, height: 10 }),
};

function sign(kind) {
  const shape = shapes[kind] ?? (() => svg('rect', { class: kind, x: 2, y: 0, width: 6, height: 10 }));
  return svg('svg', { viewBox: '0 0 10 10', class: 'key', 'aria-hidden': 'true' }, shape());
}

function legend() {
  return el('span', { class: 'legend' },
    el('span', {}, sign('took'), 'time taken'), el('span', {}, sign('writes'), 'writes'), el('span', {}, sign('healed'), 'healed what others changed'));
}

function summaryOf(cycles) {
  if (cycles.length === 0) return 'No cycle has ended yet.';
  const longest = Math.max(...cycles.map((c) => c.duration_seconds));
  const writes = cycles.reduce((sum, c) => sum + c.writes, 0);
  const healed = cycles.reduce((sum, c) => sum + c.healed, 0);
  return `Last ${count(cycles.length, 'cycle')}: the longest took ${span(longest)}, ${count(writes, 'write')}, ${count(healed, 'object')} healed.`;
}

// What takes milliseconds and what takes minutes is to be seen beside each other, so
// heights grow with the logarithm.
function scale(value, least, most, room) {
  if (value <= 0) return 0;
  const part = Math.log1p(value / least) / Math.log1p(Math.max(most, least * 10) / least);
  return Math.max(1.5, part * room);
}

function bars(cycles, width) {
  const step = Math.min(16, (width - 2 * left) / Math.max(cycles.length, 1));
  const thick = Math.max(1, step - Math.max(1, step * 0.25));
  const longest = Math.max(0, ...cycles.map((c) => c.duration_seconds));
  const most = Math.max(0, ...cycles.map((c) => c.writes));
  const columns = cycles.map((c, at) => {
    const x = left + at * step;
    const up = scale(c.duration_seconds, 0.01, longest, middle - 16);
    const down = scale(c.writes, 1, most, height - middle - 4);
    return svg('g', {}, svg('title', {}, label(c)),
      svg('rect', { class: 'hit', x, y: 0, width: step, height }),
      svg('rect', { class: 'took', x, y: middle - up, width: thick, height: up }),
      svg('rect', { class: 'writes', x, y: middle + 2, width: thick, height: down }),
      c.healed > 0 ? diamond(x + thick / 2, middle - up - 7) : null);
  });
  return svg('svg', { class: 'bars', width, height, viewBox: `0 0 ${width} ${height}`, role: 'img', 'aria-label': summaryOf(cycles) },
    svg('line', { class: 'axis', x1: 0, x2: width, y1: middle + 1, y2: middle + 1 }), ...columns);
}

function label(c) {
  return `Cycle ${c.cycle}, by ${c.trigger}, ${clockTime(Date.parse(c.started), now())}: took ${span(c.duration_seconds)}, ` +
    `${count(c.writes, 'write')}, ${count(c.healed, 'object')} healed`;
}

function diamond(x, y) {
  return svg('path', { class: 'healed', d: `M${x} ${y - 4}l4 4-4 4-4-4z` });
}

// What was before the first of both isn't known, so it isn't drawn.
function begin(cycles, spans) {
  const times = [...cycles.slice(0, 1).map((c) => c.started), ...spans.slice(0, 1).map((s) => s.from)].map(Date.parse);
  return Math.min(now() - 1000, ...times);
}

function spansOf(spans, from) {
  const total = spans.reduce((sum, s) => sum + (s.to ? Date.parse(s.to) : now()) - Date.parse(s.from), 0);
  const all = span((now() - from) / 1000);
  if (total <= 0) return `Converged through the last ${all}.`;
  return `Not converged ${count(spans.length, 'time')} in the last ${all}, for ${span(total / 1000)} in all.`;
}

function strip(spans, from, width) {
  const until = now();
  const at = (ms) => left + (ms - from) / (until - from) * (width - 2 * left);
  const marks = spans.map((s) => {
    const begins = at(Date.parse(s.from));
    const ends = at(s.to ? Date.parse(s.to) : until);
    return svg('rect', { class: ends - begins < 4 && kindOf(s) === 'apart' ? 'apart thin' : kindOf(s), x: begins, y: 0, width: Math.max(1, ends - begins), height: 14 },
      svg('title', {}, `Not converged from ${clockTime(Date.parse(s.from), until)}${s.to ? ` to ${clockTime(Date.parse(s.to), until)}` : ' until now'}`));
  });
  return svg('svg', { class: 'strip', width, height: 34, viewBox: `0 0 ${width} 34`, role: 'img', 'aria-label': spansOf(spans, from) },
    svg('defs', {}, svg('pattern', { id: 'hatch', width: 5, height: 5, patternUnits: 'userSpaceOnUse', patternTransform: 'rotate(45)' },
      svg('rect', { class: 'hatched', width: 5, height: 5 }), svg('line', { class: 'hatch', x1: 0, x2: 0, y1: 0, y2: 5 }))),
    svg('rect', { class: 'together', x: left, y: 0, width: width - 2 * left, height: 14 }), ...marks,
    svg('text', { x: left, y: 30 }, clockTime(from, until)),
    svg('text', { x: width - left, y: 30, 'text-anchor': 'end' }, 'now'));
}
