// The signs of states. They stand beside a word that says the same, so screen readers
// pass them over.

import { svg } from './dom.js';

const paths = {
  good: ['M3 8.5 6.5 12 13 4.5'],
  changed: ['M3 8h9', 'M8.5 4.5 12 8l-3.5 3.5'],
  waiting: ['M8 4v4l2.5 2', 'M8 1.8a6.2 6.2 0 1 0 .01 0'],
  failing: ['M8 3.5v5.5', 'M8 12.2v.1', 'M8 1.2 14.8 14H1.2z'],
  warning: ['M8 4.5v4.2', 'M8 11.4v.1', 'M8 1.8a6.2 6.2 0 1 0 .01 0'],
  unusable: ['M4 1.8h5.5L12.5 5v9.2H4z', 'M6.3 7.2l3.9 3.9', 'M10.2 7.2l-3.9 3.9'],
  held: ['M4 7V5a4 4 0 0 1 8 0v2', 'M3 7h10v7H3z'],
  suspended: ['M5.5 3.5v9', 'M10.5 3.5v9'],
  standby: ['M8 2v6', 'M4.6 4.4a5 5 0 1 0 6.8 0'],
  loading: ['M3 8h.1', 'M8 8h.1', 'M13 8h.1'],
};

/** The sign of a state. */
export function icon(state) {
  return svg('svg', { class: `icon ${state}`, viewBox: '0 0 16 16', 'aria-hidden': 'true' },
    ...paths[state].map((d) => svg('path', { d })));
}

/** Makes node show the sign of a state, unless it does. */
export function setIcon(node, state) {
  if (node.dataset.icon === state) return;
  node.dataset.icon = state;
  node.replaceChildren(icon(state));
}
