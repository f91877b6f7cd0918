// Runs before the first paint, so that a dark page never flashes white.
(function () {
  var choice = null;
  try {
    choice = localStorage.getItem('sluice-theme');
  } catch {
    choice = null; // storage may be forbidden; then the system's theme is used
  }
  var dark = choice === 'dark' || (choice !== 'light' && matchMedia('(prefers-color-scheme: dark)').matches);
  document.documentElement.classList.toggle('dark', dark);
})();
