// The theme: the system's, unless somebody has chosen one. early.js puts the choice
// in force before the page is painted.

const next = { auto: 'light', light: 'dark', dark: 'auto' };

function chosen() {
  return document.documentElement.dataset.theme ?? 'auto';
}

function choose(theme) {
  const root = document.documentElement;
  if (theme === 'auto') delete root.dataset.theme;
  else root.dataset.theme = theme;
  try {
    if (theme === 'auto') localStorage.removeItem('theme');
    else localStorage.setItem('theme', theme);
  } catch {
    // Without storage the choice lasts as long as the page.
  }
}

/** Makes button the one that goes through the themes. */
export function themeButton(button) {
  const show = () => { button.textContent = `Theme: ${chosen()}`; };
  button.addEventListener('click', () => {
    choose(next[chosen()]);
    show();
  });
  show();
}
