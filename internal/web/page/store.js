// What is known of the controller: the report, kept up by what the stream tells.

import { compareBy, rowOf } from './filter.js';

export class Store {
  /** The report without its items and lists; null before the first. */
  report = null;
  /** Why the controller can't work; '' if it can. */
  notReady = '';
  problems = [];
  warnings = [];
  held = [];
  cycles = [];
  notConverged = [];
  /** Rows by key, and in the order of their names. */
  rows = new Map();
  list = [];

  #held = new Set();

  /** Takes a frame over. Returns the keys that it changes; null is all. */
  apply(frame) {
    this.report = frame.report;
    this.notConverged = frame.not_converged;
    if (frame.full) {
      this.rows.clear();
      this.cycles = [];
    }
    this.cycles = this.cycles.concat(frame.cycles).slice(-120);
    const changed = new Set();
    if (frame.lists !== null) this.#takeLists(frame.lists, changed);
    const members = this.#takeItems(frame, changed);
    if (members) this.list = [...this.rows.values()].sort(compareBy('name', 1));
    else if (changed.size > 0) this.list = this.list.map((row) => this.rows.get(row.key));
    return frame.full ? null : changed;
  }

  #takeLists(lists, changed) {
    this.problems = lists.problems;
    this.warnings = lists.warnings;
    this.held = lists.held;
    const before = this.#held;
    this.#held = new Set(lists.held.map((held) => `${held.namespace}/${held.name}`));
    for (const key of before.symmetricDifference(this.#held)) {
      const row = this.rows.get(key);
      if (row === undefined) continue;
      this.rows.set(key, rowOf(row.item, this.#held));
      changed.add(key);
    }
  }

  // takeItems says whether objects have come or gone. What has gone and come back is in
  // both lists, so those that are there come last.
  #takeItems(frame, changed) {
    let members = frame.full;
    for (const [namespace, name] of frame.gone) {
      members = this.rows.delete(`${namespace}/${name}`) || members;
      changed.add(`${namespace}/${name}`);
    }
    for (const item of frame.items) {
      const row = rowOf(item, this.#held);
      members ||= !this.rows.has(row.key);
      this.rows.set(row.key, row);
      changed.add(row.key);
    }
    return members;
  }
}
