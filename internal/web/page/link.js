// How the connection to the controller does, in words.

import { now } from './clock.js';
import { button, el, setText } from './dom.js';
import { clockTime, sentence, span, visible } from './text.js';

export class Link {
  #link = document.getElementById('link');
  #lost = document.getElementById('lost');
  #state = { state: 'connecting' };
  #since = 0;
  #retry;
  #countdown = el('span');

  /** retry is called where somebody doesn't want to wait. */
  constructor(retry) {
    this.#retry = retry;
    this.#link.dataset.state = 'connecting';
    setText(this.#link, 'Connecting');
  }

  /** Whether what is shown is how things stand. */
  get live() { return this.#state.state === 'live'; }

  show(next) {
    const before = this.#state;
    this.#state = next;
    this.#link.dataset.state = next.state;
    document.body.classList.toggle('stale', next.state !== 'live');
    setText(this.#link, { live: before.state === 'lost' ? 'Live again' : 'Live', lost: 'No connection', paused: 'Paused' }[next.state]);
    if (next.state !== 'lost') {
      this.#lost.hidden = true;
      this.#lost.replaceChildren();
      return;
    }
    if (before.state !== 'lost') this.#since = now();
    // Said aloud once; the time until the next try isn't.
    this.#countdown.setAttribute('aria-hidden', 'true');
    if (this.#lost.hidden || this.#lost.dataset.why !== next.why) {
      this.#lost.dataset.why = next.why;
      this.#lost.replaceChildren(
        el('p', {}, el('b', {}, `No connection since ${clockTime(this.#since, now())}: `), `${visible(next.why)}. What is shown is how things stood then. `, this.#countdown),
        button('Try now', {}, () => this.#retry()));
      this.#lost.hidden = false;
    }
    this.tick();
  }

  /** Says that another version of the controller answers, whose page may be another. */
  outdated(version) {
    if (this.#lost.dataset.why === 'outdated' && !this.#lost.hidden) return;
    this.#lost.dataset.why = 'outdated';
    this.#lost.replaceChildren(
      el('p', {}, `${sentence('the controller')} is another version now: ${visible(version)}. `),
      button('Load its page', {}, () => location.reload()));
    this.#lost.hidden = false;
  }

  tick() {
    if (this.#state.state !== 'lost') return;
    const left = (this.#state.retryAt - Date.now()) / 1000;
    setText(this.#countdown, left > 0.5 ? `Next try in ${span(Math.ceil(left))}.` : 'Trying.');
  }
}
