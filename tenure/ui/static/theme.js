// Light, dark or as the system is; chosen before anything is drawn, so that nothing flashes.
(() => {
  const dark = window.matchMedia("(prefers-color-scheme: dark)");
  const apply = () => {
    const chosen = localStorage.getItem("tenure-theme") || "system";
    document.documentElement.dataset.theme = chosen === "system" ? (dark.matches ? "dark" : "light") : chosen;
    window.dispatchEvent(new Event("tenure-theme"));
  };
  window.tenureTheme = (chosen) => {
    if (chosen === "system") localStorage.removeItem("tenure-theme");
    else localStorage.setItem("tenure-theme", chosen);
    apply();
  };
  dark.addEventListener("change", apply);
  apply();
})();
