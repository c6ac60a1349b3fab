// What is known of the controller: the report, kept up by what the stream tells.

import { compareBy, rowOf, tally } from './filter.js';

export class Store {
  /** The report without its items and lists; null before the first. */
  report = null;
  /** Why the controller can't work; '' if it can. */
  notReady = '';
  /** Whether the source as a whole is in trouble. */
  sourceFailed = false;
  problems = [];
  warnings = [];
  held = [];
  cycles = [];
  notConverged = [];
  /** Rows by key, and in the order of their names. */
  rows = new Map();
  list = [];
  /** How many rows are in each state. */
  counts = tally([]);

  /** Takes a frame over. Returns the keys that it changes; null is all. */
  apply(frame) {
    this.report = frame.report;
    this.sourceFailed = frame.source_failed;
    this.notConverged = frame.not_converged;
    if (frame.full) {
      this.rows.clear();
      this.cycles = [];
    }
    this.cycles = this.cycles.concat(frame.cycles).slice(-120);
    const changed = new Set();
    if (frame.lists !== null) ({ problems: this.problems, warnings: this.warnings, held: this.held } = frame.lists);
    const members = this.#takeItems(frame, changed);
    if (members) this.list = [...this.rows.values()].sort(compareBy('name', 1));
    else if (changed.size > 0) this.list = this.list.map((row) => this.rows.get(row.key));
    this.counts = tally(this.list);
    return frame.full ? null : changed;
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
      const row = rowOf(item);
      members ||= !this.rows.has(row.key);
      this.rows.set(row.key, row);
      changed.add(row.key);
    }
    return members;
  }
}
