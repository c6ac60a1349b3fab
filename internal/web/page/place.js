// What is looked at, kept in the address: a reload, a bookmark or a link that is
// passed on shows the same.

import { actions, sorts, states } from './filter.js';

/** What is looked at, by the address. What isn't known there counts as not said. */
export function read() {
  const from = new URLSearchParams(location.hash.slice(1));
  const oneOf = (name, known) => (known.includes(from.get(name)) ? from.get(name) : '');
  const sort = oneOf('sort', sorts) || 'trouble';
  return {
    text: from.get('q') ?? '',
    state: oneOf('state', states.map((state) => state.id)),
    action: oneOf('action', actions),
    sort,
    direction: sort !== 'trouble' && from.get('order') === 'down' ? -1 : 1,
    object: from.get('object') ?? '',
  };
}

/** Puts what is looked at into the address. */
export function write(place) {
  const to = new URLSearchParams();
  if (place.text) to.set('q', place.text);
  if (place.state) to.set('state', place.state);
  if (place.action) to.set('action', place.action);
  if (place.sort !== 'trouble') to.set('sort', place.sort);
  if (place.direction < 0) to.set('order', 'down');
  if (place.object) to.set('object', place.object);
  const hash = to.toString();
  history.replaceState(null, '', hash ? `#${hash}` : location.pathname);
}
