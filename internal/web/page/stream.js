// The connection to the controller: server-sent events, read by fetch, since that
// tells why a connection was refused and an EventSource doesn't.

const patience = 25_000; // the controller says something every 10 s at the least
const firstPause = 500;
const longestPause = 10_000;

/** Parses server-sent events. Returns a function that takes text as it comes. */
export function parser(onEvent) {
  let parts = [];
  let last = '';
  return (chunk) => {
    if (chunk === '') return;
    // Messages can be megabytes long: each piece is looked through once.
    let rest = chunk;
    if (last === '\n' && rest.startsWith('\n')) {
      parts.push('\n');
      emit(parts.join(''), onEvent);
      parts = [];
      rest = rest.slice(1);
    }
    for (let end = rest.indexOf('\n\n'); end >= 0; end = rest.indexOf('\n\n')) {
      parts.push(rest.slice(0, end));
      emit(parts.join(''), onEvent);
      parts = [];
      rest = rest.slice(end + 2);
    }
    if (rest !== '') parts.push(rest);
    last = rest === '' ? '' : rest[rest.length - 1];
  };
}

function emit(block, onEvent) {
  const event = { name: 'message', id: null, data: '' };
  for (const line of block.split('\n')) {
    const colon = line.indexOf(':');
    const field = line.slice(0, colon);
    const value = line.slice(colon + 1).replace(/^ /, '');
    if (field === 'event') event.name = value;
    else if (field === 'id') event.id = value;
    else if (field === 'data') event.data += value;
  }
  if (event.data !== '') onEvent(event);
}

/**
 * Keeps a stream open. on.event gets each event with its data parsed, and on.state
 * {state: 'live'|'lost'|'paused', why, retryAt} whenever that changes.
 */
export function connect(url, on) {
  let seen = '';
  let failures = 0;
  let timer = 0;
  let abort = null;
  let state = '';

  const tell = (next) => {
    state = next.state;
    on.state(next);
  };

  const run = async () => {
    clearTimeout(timer);
    abort?.abort('again');
    const control = new AbortController();
    abort = control;
    let why = 'the connection has ended';
    try {
      why = await read(control) ?? why;
    } catch (error) {
      if (control.signal.reason === 'paused' || control.signal.reason === 'again') return;
      why = control.signal.reason === 'silent' ? `nothing was heard for ${patience / 1000} s` : refused(error);
    }
    if (abort !== control) return; // another attempt has taken over
    const pause = Math.min(longestPause, firstPause * 2 ** failures++);
    timer = setTimeout(run, pause);
    tell({ state: 'lost', why, retryAt: Date.now() + pause });
  };

  // read returns why the stream ended, where somebody said so.
  const read = async (control) => {
    let watch = setTimeout(() => control.abort('silent'), patience);
    try {
      const answer = await fetch(seen ? `${url}?since=${encodeURIComponent(seen)}` : url, { signal: control.signal, cache: 'no-store' });
      if (!answer.ok) throw new Error((await answer.text()).trim() || `the answer was ${answer.status}`);
      let ending = null;
      const parse = parser((event) => {
        if (event.name === 'stopping') ending = 'the controller is being stopped';
        if (event.id !== null) seen = event.id;
        if (state !== 'live') tell({ state: 'live' });
        failures = 0;
        on.event(event.name, JSON.parse(event.data));
      });
      const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
      for (;;) {
        const { done, value } = await reader.read();
        clearTimeout(watch);
        if (done) return ending;
        watch = setTimeout(() => control.abort('silent'), patience);
        parse(value);
      }
    } finally {
      clearTimeout(watch);
    }
  };

  run();
  return {
    /** Tries again at once. */
    retry: run,
    /** Lets go of the connection until resume. */
    pause() {
      clearTimeout(timer);
      abort?.abort('paused');
      tell({ state: 'paused' });
    },
    resume() {
      if (state === 'paused') run();
    },
    /** Has the next connection begin anew, with everything. */
    forget() { seen = ''; },
  };
}

// What browsers say of a refused connection is about themselves.
function refused(error) {
  return error instanceof TypeError ? 'the controller can\u2019t be reached' : error.message;
}
