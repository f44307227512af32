// Sets the chosen theme before anything is drawn; without a choice the system's counts.
(() => {
  let theme = null;
  try { theme = localStorage.getItem("yarntune-theme"); } catch { /* storage may be switched off */ }
  if (theme === "dark" || theme === "light") document.documentElement.dataset.theme = theme;
})();
