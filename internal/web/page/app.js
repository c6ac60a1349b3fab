// Puts the parts of the page together: what the stream tells goes into the store, and
// from there onto the page.

import { setClock, tick } from './clock.js';
import { Detail } from './detail.js';
import { setText } from './dom.js';
import { filterRows, inOrder, tally } from './filter.js';
import { Grid } from './grid.js';
import { Link } from './link.js';
import { Notices } from './notices.js';
import { Picture } from './picture.js';
import * as places from './place.js';
import { Store } from './store.js';
import { connect } from './stream.js';
import { Summary } from './summary.js';
import { themeButton } from './theme.js';
import { count } from './text.js';
import { Tools } from './tools.js';

// A page that nobody sees lets go of its connection: browsers allow a site only six,
// and pages that are open would keep others from opening.
const hiddenFor = 10_000;

const store = new Store();
const place = places.read();
const byId = (id) => document.getElementById(id);
const narrow = matchMedia('(max-width: 899px)');

const summary = new Summary((state) => toState(state));
const picture = new Picture();
const notices = new Notices((key) => open(key));
const tools = new Tools(byId('tools'), (change) => look(change));
const grid = new Grid(byId('grid'), {
  onOpen: (key) => open(key),
  onSort: (sort) => look({ sort, direction: place.sort === sort ? -place.direction : 1 }),
});
const detail = new Detail(byId('detail'), { onClose: close });

// The rows in the order that is looked at, and what they were made from.
let ordered = [];
let orderedOf = null;

function rowsInOrder() {
  const of = `${place.sort} ${place.direction}`;
  if (orderedOf?.list !== store.list || orderedOf.of !== of) {
    orderedOf = { list: store.list, of };
    ordered = inOrder(store.list, place.sort, place.direction);
  }
  return ordered;
}

function showRows() {
  const like = filterRows(rowsInOrder(), { ...place, state: '' });
  const rows = filterRows(like, { text: '', action: '', state: place.state });
  grid.show(rows, place);
  tools.show(place, tally(like), store.counts);
  const total = store.list.length;
  setText(byId('count'), rows.length === total ? count(total, 'object') : `${rows.length.toLocaleString('en')} of ${count(total, 'object')}`);
  byId('count').hidden = store.report === null;
  const words = rows.length > 0 ? '' : nothing(total);
  setText(byId('nothing'), words);
  byId('nothing').hidden = words === '';
}

function nothing(total) {
  if (store.report === null) return 'Nothing is known yet.';
  if (total > 0) return 'No WebService is like that. Take something out of the search, or choose another state.';
  if (store.report.role === 'standby') return 'While another process decides, this one has no WebServices to show.';
  return 'There are no WebServices: the source names none, and the cluster has none of this source.';
}

let writing = 0;

function look(change) {
  Object.assign(place, change);
  // Browsers don't take an address at every key that is pressed.
  clearTimeout(writing);
  writing = setTimeout(() => places.write(place), 300);
  showRows();
}

// toState shows the objects that are in a state, whatever else was looked at.
function toState(state) {
  look({ text: '', action: '', state });
  byId('services-title').scrollIntoView();
  byId('services-title').focus({ preventScroll: true });
}

function open(key, focus = true) {
  look({ object: key });
  byId('detail').parentElement.classList.add('split');
  detail.open(key, store.rows.get(key), focus);
  grid.mark(key);
  aside();
}

function close() {
  look({ object: '' });
  detail.close();
  byId('detail').parentElement.classList.remove('split');
  grid.mark('');
  aside();
  grid.focus();
}

// On a narrow screen one object covers the page; what is below can't be reached then.
function aside() {
  const covers = narrow.matches && detail.key !== '';
  document.body.classList.toggle('covered', covers);
  const kept = byId('detail');
  for (let node = kept; node !== document.body; node = node.parentElement) {
    for (const other of node.parentElement.children) {
      if (other !== node && other.id !== 'live' && other.id !== 'lost' && other.tagName !== 'SCRIPT') other.inert = covers;
    }
  }
}

// On a narrow screen what there is to see to comes before the facts.
function fold() {
  byId('more').open = !narrow.matches;
}

let version = '';

function take(frame) {
  const first = store.report === null;
  const changed = store.apply(frame);
  showState();
  notices.show(store);
  picture.show(store);
  if (changed === null || changed.size > 0) {
    showRows();
    if (detail.key !== '' && (changed === null || changed.has(detail.key))) detail.refresh(store.rows.get(detail.key));
  }
  if (first && detail.key !== '') detail.reveal();
  version ||= frame.report.controller_version;
  if (frame.report.controller_version !== version) link.outdated(frame.report.controller_version);
}

function beat({ not_ready: notReady, now }) {
  setClock(now);
  if (store.notReady === notReady && store.report !== null) return;
  store.notReady = notReady;
  showState();
}

// While the controller can't work, what is below the verdict is how things stood.
function showState() {
  summary.show(store);
  document.body.classList.toggle('away', store.notReady !== '');
}

const stream = connect('api/stream', {
  event: (name, data) => {
    if (name === 'report') take(data);
    else if (name === 'beat') beat(data);
  },
  state: (state) => link.show(state),
});
const link = new Link(() => stream.retry());

let hiding = 0;
document.addEventListener('visibilitychange', () => {
  clearTimeout(hiding);
  if (document.hidden) hiding = setTimeout(() => stream.pause(), hiddenFor);
  else stream.resume();
});

document.addEventListener('keydown', (event) => {
  const typing = event.target.closest?.('input, select, textarea');
  if (event.key === '/' && !typing && searchable()) {
    event.preventDefault();
    tools.focus();
  } else if (event.key === 'Escape' && detail.key !== '' && !typing) {
    close();
  }
});

function searchable() {
  return !document.body.classList.contains('covered');
}

addEventListener('hashchange', () => {
  Object.assign(place, places.read());
  if (place.object !== '') open(place.object);
  else if (detail.key !== '') close();
  showRows();
});
narrow.addEventListener('change', () => {
  aside();
  fold();
});
setInterval(() => {
  if (document.hidden) return;
  tick();
  link.tick();
  picture.tick();
}, 1000);

themeButton(byId('theme'));
fold();
showRows();
if (place.object !== '') open(place.object, false);
