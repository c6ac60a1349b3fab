// How elements are made. Text goes into text nodes and nowhere else, so nothing that
// comes from files or from the cluster can become markup.

const svgSpace = 'http://www.w3.org/2000/svg';

function fill(node, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === true) node.setAttribute(name, '');
    else if (value !== false && value != null) node.setAttribute(name, value);
  }
  node.append(...children.filter((child) => child != null));
  return node;
}

/** An element. A child is a node or text; null is none. */
export function el(tag, attributes = {}, ...children) {
  return fill(document.createElement(tag), attributes, children);
}

/** An element of a drawing. */
export function svg(tag, attributes = {}, ...children) {
  return fill(document.createElementNS(svgSpace, tag), attributes, children);
}

/** Sets text unless it is there already: what doesn't change needs no layout, and
 *  screen readers say nothing. */
export function setText(node, text) {
  if (node.textContent !== text) node.textContent = text;
}

/** A button that does something. */
export function button(label, attributes, act) {
  const node = el('button', { type: 'button', ...attributes }, label);
  node.addEventListener('click', act);
  return node;
}
