// Runs before anything is painted, so that a page whose theme was chosen doesn't
// flash in the other one.
{
  let theme = null;
  try {
    theme = localStorage.getItem('theme');
  } catch {
    // Storage may be switched off; then the system's theme it is.
  }
  if (theme === 'light' || theme === 'dark') document.documentElement.dataset.theme = theme;
}
