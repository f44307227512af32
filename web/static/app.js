// What the pages do beyond HTML: theme, menu, charts, copying, local times. Everything works without it but the charts,
// and beside each chart is its table.
"use strict";

const root = document.documentElement;
const darkSystem = matchMedia("(prefers-color-scheme: dark)");

/** @param {string} name of a CSS variable without its dashes */
const css = (name) => getComputedStyle(root).getPropertyValue(`--${name}`).trim();

/** Replaces roles as "@accent" by the theme's colours, all through a figure.
 * @param {any} value @returns {any} */
function coloured(value) {
  if (typeof value === "string") return value.startsWith("@") ? css(`chart-${value.slice(1)}`) || value : value;
  if (Array.isArray(value)) return value.map(coloured);
  if (value && typeof value === "object") {
    return Object.fromEntries(Object.entries(value).map(([key, each]) => [key, coloured(each)]));
  }
  return value;
}

/** @param {HTMLElement} element */
function draw(element) {
  const data = document.getElementById(element.dataset.figure);
  if (!data || !window.Plotly) return;
  const figure = coloured(JSON.parse(data.textContent));
  const axis = { gridcolor: css("line"), linecolor: css("line"), zerolinecolor: css("line"), automargin: true };
  const given = figure.layout;
  const layout = {
    ...given,
    paper_bgcolor: "rgba(0,0,0,0)",
    plot_bgcolor: "rgba(0,0,0,0)",
    font: { family: "inherit", size: 12, color: css("ink-soft") },
    margin: { l: 56, r: 16, t: 24, b: 44 },
    height: 320,
    legend: { orientation: "h", y: 1.02, yanchor: "bottom", x: 0 },
    hoverlabel: { bgcolor: css("surface"), bordercolor: css("line"), font: { color: css("ink") } },
    xaxis: { ...axis, ...given.xaxis },
    yaxis: { ...axis, ...given.yaxis },
  };
  window.Plotly.react(element, figure.data, layout, { displayModeBar: false, responsive: true });
}

function drawAll() {
  document.querySelectorAll(".chart").forEach(draw);
}

function localTimes(within) {
  within.querySelectorAll("time[datetime]:not([data-local])").forEach((time) => {
    const at = new Date(time.getAttribute("datetime"));
    if (Number.isNaN(at.getTime())) return;
    const two = (n) => String(n).padStart(2, "0");
    time.textContent = `${at.getFullYear()}-${two(at.getMonth() + 1)}-${two(at.getDate())} ${two(at.getHours())}:${two(at.getMinutes())}`;
    time.dataset.local = "";
  });
}

function copyButtons(within) {
  within.querySelectorAll("button[data-copy]").forEach((button) => {
    button.hidden = false;
    button.addEventListener("click", async () => {
      const text = document.getElementById(button.dataset.copy).textContent;
      try {
        await navigator.clipboard.writeText(text);
        button.textContent = "Copied";
      } catch {
        // Without HTTPS a browser may refuse: the text is then selected, ready for the keyboard.
        getSelection().selectAllChildren(document.getElementById(button.dataset.copy));
        button.textContent = "Press Ctrl-C";
      }
      setTimeout(() => { button.textContent = "Copy"; }, 2000);
    });
  });
}

function themeButton() {
  const button = document.querySelector(".theme-toggle");
  if (!button) return;
  const show = () => { button.querySelector("span").textContent = root.dataset.theme || "system"; };
  button.hidden = false;
  show();
  button.addEventListener("click", () => {
    const next = { undefined: "dark", dark: "light", light: undefined }[root.dataset.theme];
    if (next) root.dataset.theme = next; else delete root.dataset.theme;
    try {
      if (next) localStorage.setItem("yarntune-theme", next); else localStorage.removeItem("yarntune-theme");
    } catch { /* the choice then lasts for this page */ }
    show();
    drawAll();
  });
  darkSystem.addEventListener("change", drawAll);
}

function menuButton() {
  const button = document.querySelector(".menu-toggle");
  const menu = document.getElementById("menu");
  if (!button || !menu) return;
  button.hidden = false;
  root.classList.add("scripted");
  const set = (open) => {
    button.setAttribute("aria-expanded", String(open));
    menu.classList.toggle("open", open);
  };
  button.addEventListener("click", () => set(button.getAttribute("aria-expanded") !== "true"));
  document.addEventListener("keydown", (event) => {
    if (event.key === "Escape" && menu.classList.contains("open")) { set(false); button.focus(); }
  });
}

function busyForms() {
  document.querySelectorAll("form[data-busy]").forEach((form) => {
    form.addEventListener("submit", () => {
      const button = form.querySelector("button");
      button.textContent = form.dataset.busy;
      button.disabled = true;
    });
  });
}

function prepare(within) {
  localTimes(within);
  copyButtons(within);
  within.querySelectorAll(".chart").forEach(draw);
}

document.addEventListener("DOMContentLoaded", () => {
  themeButton();
  menuButton();
  busyForms();
  prepare(document);
});

// Parts that htmx has put in; a part that could not be had says so in its place.
document.addEventListener("htmx:afterSettle", (event) => prepare(event.detail.elt.parentElement || document));
document.addEventListener("htmx:beforeSwap", (event) => {
  const status = event.detail.xhr.status;
  if (status >= 400 && status !== 404) { event.detail.shouldSwap = true; event.detail.isError = false; }
});
document.addEventListener("htmx:configRequest", (event) => {
  event.detail.headers["X-CSRF-Token"] = document.querySelector('meta[name="csrf-token"]').content;
});
document.addEventListener("htmx:sendError", (event) => {
  const element = event.detail.elt;
  if (element.querySelector(".offline")) return;
  const notice = document.createElement("p");
  notice.className = "notice warn offline";
  notice.setAttribute("role", "status");
  notice.textContent = "The server does not answer: what is shown is from before.";
  element.prepend(notice);
});
