// Rows: how an item becomes one, and which of them are shown in which order. Pure,
// and quick enough for 10,000 of them at each key that is pressed.

/** The states that an object may be in, the worst first. */
export const states = [
  { id: 'failing', label: 'Failing' },
  { id: 'unusable', label: 'File unusable' },
  { id: 'held', label: 'Held' },
  { id: 'waiting', label: 'Waiting' },
  { id: 'changed', label: 'Changed' },
  { id: 'suspended', label: 'Suspended' },
  { id: 'good', label: 'In order' },
];

export const actions = ['create', 'update', 'delete', 'noop', 'requeue'];

const severity = Object.fromEntries(states.map((state, at) => [state.id, at]));

/** The states in which somebody or something is waited for. */
export const troubles = ['failing', 'unusable', 'held', 'waiting'];

const isTrouble = (row) => row.severity < troubles.length;
const done = { create: 'Created', update: 'Updated', delete: 'Deleted' };

/** What the table has of an item. */
export function rowOf(item) {
  const key = `${item.namespace}/${item.name}`;
  return {
    key,
    item,
    state: item.state,
    label: done[item.action] ?? states[severity[item.state]].label,
    severity: severity[item.state],
    // A line break can't be typed, so no term goes from one field into the next.
    haystack: `${key}\n${item.reason}\n${item.source}\n${item.target}\n${item.action}`.toLowerCase(),
  };
}

const sortKeys = {
  trouble: (row) => (isTrouble(row) ? row.severity : troubles.length),
  state: (row) => row.severity,
  name: null,
  action: (row) => actions.indexOf(row.item.action),
  reason: (row) => row.item.reason,
  file: (row) => row.item.source,
  generation: (row) => row.item.generation,
  versions: (row) => Number(row.item.resource_versions.webservice.after) || 0,
};

/** What the table can be sorted by. */
export const sorts = Object.keys(sortKeys);

function byName(a, b) {
  const x = a.item, y = b.item;
  if (x.namespace !== y.namespace) return x.namespace < y.namespace ? -1 : 1;
  if (x.name !== y.name) return x.name < y.name ? -1 : 1;
  return 0;
}

/** A comparison for Array.sort; direction is 1 or -1. Equal rows stand by name. */
export function compareBy(sort, direction) {
  const value = sortKeys[sort];
  if (value === null) return (a, b) => direction * byName(a, b);
  return (a, b) => {
    const x = value(a), y = value(b);
    if (x === y) return byName(a, b);
    return x < y ? -direction : direction;
  };
}

/** Rows, which stand by name, in the order that is asked for. */
export function inOrder(rows, sort, direction) {
  if (sort === 'name' && direction > 0) return rows;
  const compare = compareBy(sort, direction);
  if (sort !== 'trouble') return rows.toSorted(compare);
  // Of 10,000 rows a few are in trouble, and the rest stands as it is to stand.
  const first = rows.filter(isTrouble).sort(compare);
  return first.length === 0 ? rows : first.concat(rows.filter((row) => !isTrouble(row)));
}

/** The rows that have every word of text, and the state and the action if these are
 *  given. Their order stays. */
export function filterRows(rows, { text, state, action }) {
  const terms = text.toLowerCase().split(/\s+/).filter((term) => term !== '');
  if (terms.length === 0 && state === '' && action === '') return rows;
  return rows.filter((row) =>
    (state === '' || row.state === state) &&
    (action === '' || row.item.action === action) &&
    terms.every((term) => row.haystack.includes(term)));
}

/** How many rows are in each state. */
export function tally(rows) {
  const counts = Object.fromEntries(states.map((state) => [state.id, 0]));
  for (const row of rows) counts[row.state]++;
  return counts;
}
