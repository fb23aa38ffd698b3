// Light, dark, or the setting of the system.
(() => {
  "use strict";
  const button = document.getElementById("theme");
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const order = ["auto", "light", "dark"];
  let wanted = "auto";
  const apply = () => {
    const shown = wanted === "auto" ? (dark.matches ? "dark" : "light") : wanted;
    document.documentElement.dataset.theme = shown;
    button.textContent = `Theme: ${wanted}`;
    document.dispatchEvent(new CustomEvent("themechange"));
  };
  button.addEventListener("click", () => {
    wanted = order[(order.indexOf(wanted) + 1) % order.length];
    apply();
  });
  dark.addEventListener("change", apply);
  apply();
})();
