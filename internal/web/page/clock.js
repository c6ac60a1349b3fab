// The controller's time. The browser's clock may be wrong; every beat says how far.

import { ago, span } from './text.js';
import { el, setText } from './dom.js';

let offset = 0;
const shown = new Set();

/** Takes the controller's time of now, in milliseconds. */
export function setClock(ms) {
  offset = ms - Date.now();
}

/** The controller's time of now, in milliseconds. */
export function now() {
  return Date.now() + offset;
}

/** An element that says how long ago a time was, and keeps saying it right. */
export function since(ms) {
  return ticking(ms, () => ago((now() - ms) / 1000));
}

/** An element that says how long it is until a time. */
export function until(ms) {
  return ticking(ms, () => {
    const left = (ms - now()) / 1000;
    return left < 1 ? 'now' : `in ${span(Math.ceil(left))}`;
  });
}

function ticking(ms, say) {
  const node = el('time', { datetime: new Date(ms).toISOString() }, say());
  shown.add({ node: new WeakRef(node), say });
  return node;
}

/** Brings all of them up to date. What isn't on the page any more is forgotten. */
export function tick() {
  for (const entry of shown) {
    const node = entry.node.deref();
    if (node === undefined || !node.isConnected) shown.delete(entry);
    else setText(node, entry.say());
  }
}
