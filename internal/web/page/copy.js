// Copying a text.

import { button, setText } from './dom.js';

/** A button that copies text, and says so in its own words. */
export function copyButton(text, label, name) {
  const node = button(label, { 'aria-label': name }, async () => {
    const done = await copy(text);
    setText(node, done ? 'Copied' : 'Select it and copy by hand');
    node.setAttribute('aria-label', node.textContent);
    setTimeout(() => {
      setText(node, label);
      node.setAttribute('aria-label', name);
    }, 2000);
  });
  node.setAttribute('aria-live', 'polite');
  return node;
}

async function copy(text) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    return copyBySelection(text);
  }
}

// Without https, and not on localhost, browsers have no clipboard for pages.
function copyBySelection(text) {
  const field = document.createElement('textarea');
  field.value = text;
  field.className = 'unseen';
  document.body.append(field);
  const before = document.activeElement;
  field.select();
  const done = document.execCommand('copy');
  field.remove();
  before?.focus();
  return done;
}
