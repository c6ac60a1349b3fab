// How things are said. Pure functions, but for what the browser knows of languages.

// Characters that can't be seen or that turn the order of others around. A name or a
// reason with such characters could look like another one.
const hidden = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}\u115f\u1160\u3164\ufe00-\ufe0f]/gu;

/** Text with what can't be seen written out. */
export function visible(text) {
  return text.replace(hidden, (c) => `\\u${c.codePointAt(0).toString(16).padStart(4, '0')}`);
}

/** "1 object", "2,000 objects". */
export function count(n, one, many = `${one}s`) {
  return `${n.toLocaleString('en')} ${n === 1 ? one : many}`;
}

/** A length of time in two digits or so: "80 ms", "2.5 s", "4 min". */
export function span(seconds) {
  if (seconds < 0.0005) return '0 ms';
  if (seconds < 0.9995) return `${Math.max(1, Math.round(seconds * 1000))} ms`;
  if (seconds < 9.95) return `${(Math.round(seconds * 10) / 10).toString()} s`;
  if (seconds < 119.5) return `${Math.round(seconds)} s`;
  if (seconds < 119.5 * 60) return `${Math.round(seconds / 60)} min`;
  if (seconds < 47.5 * 3600) return `${Math.round(seconds / 3600)} h`;
  return `${Math.round(seconds / 86400)} days`;
}

/** How long ago something was. */
export function ago(seconds) {
  return seconds < 1 ? 'just now' : `${span(Math.floor(seconds))} ago`;
}

/** A time of day, with the date where it isn't today's. */
export function clockTime(ms, nowMs) {
  const at = new Date(ms);
  const time = at.toLocaleTimeString('en-GB');
  if (at.toDateString() === new Date(nowMs).toDateString()) return time;
  return `${at.getFullYear()}-${two(at.getMonth() + 1)}-${two(at.getDate())} ${time}`;
}

function two(n) {
  return String(n).padStart(2, '0');
}

/** The first letter in capitals. */
export function sentence(text) {
  return text === '' ? '' : text[0].toUpperCase() + text.slice(1);
}
