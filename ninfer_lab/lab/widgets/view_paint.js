// Which colours has the page, and how is a canvas kept sharp?

import { element } from "./view_controls.js";

/** #rgb, #rrggbb or rgb(...) as [r, g, b]. */
export function rgb(colour) {
  const numbers = colour.match(/\d+(\.\d+)?/g);
  if (colour.startsWith("rgb") && numbers) return numbers.slice(0, 3).map(Number);
  const hex = colour.replace("#", "").trim();
  const full = hex.length === 3 ? [...hex].map((digit) => digit + digit).join("") : hex;
  return [0, 2, 4].map((at) => parseInt(full.slice(at, at + 2), 16));
}

/** A colour between two: share 0 is the first, 1 the second. */
export function mixed(first, second, share) {
  const a = rgb(first);
  const b = rgb(second);
  return `rgb(${a.map((part, i) => Math.round(part + (b[i] - part) * share)).join(", ")})`;
}

/** Black or white, whichever is read better on a colour. */
export function inkOn(colour) {
  const [r, g, b] = rgb(colour);
  return 0.299 * r + 0.587 * g + 0.114 * b > 140 ? "#1a1a1a" : "#ffffff";
}

/** The page's own colours, light or dark, as JupyterLab has them now. */
export function pageColours(node) {
  const style = getComputedStyle(node);
  const of = (name, otherwise) => style.getPropertyValue(name).trim() || otherwise;
  return {
    paper: inNumbers(of("--nl-paper", "#ffffff")),
    ink: of("--nl-ink", "#333333"),
    quiet: of("--nl-quiet", "#767676"),
    line: of("--nl-line", "#bdbdbd"),
    free: of("--nl-free", "#f2f2f2"),
    accent: of("--nl-accent", "#d55e00"),
    font: of("--jp-ui-font-family", "system-ui, sans-serif"),
  };
}

/** A theme may say "white", which cannot be mixed: a canvas gives every colour back as numbers. */
function inNumbers(colour) {
  const pen = document.createElement("canvas").getContext("2d");
  pen.fillStyle = colour;
  return pen.fillStyle;
}

/** Calls back when JupyterLab changes between light and dark. */
export function onTheme(life, act) {
  const watcher = new MutationObserver(life.safe(act));
  watcher.observe(document.body, {
    attributes: true,
    attributeFilter: ["data-jp-theme-light", "data-jp-theme-name", "class", "style"],
  });
  life.ends.push(() => watcher.disconnect());
}

/** The page's colours as they are now, read again only where they may have changed: reading one
 * makes the browser work out the styles of whatever was just written.
 *
 * `page()` gives the same object until then, so that a painter knows by it what still stands. */
export function themed(life, node, act) {
  let known = null;
  const forget = () => { known = null; };
  onTheme(life, () => { forget(); act(); });
  return { page: () => (known ??= pageColours(node)), forget };
}

/** An upright bar over a canvas that says "here". It is an element of its own: where it moves,
 * nothing beneath it is painted again. */
export function marked(canvas, colour) {
  const bar = element("div", { class: "nl-bar-here", style: `background:${colour}` });
  return {
    box: element("div", { class: "nl-marked" }, canvas, bar),
    to: (x, height) => {
      bar.style.display = x === null ? "none" : "block";
      if (x !== null) bar.style.transform = `translateX(${x - 1}px)`;
      if (height) bar.style.height = `${height}px`;
    },
  };
}

/** Sets a canvas to a size in CSS pixels, sharp on any screen; returns its context, cleared. */
export function sized(canvas, width, height) {
  const ratio = window.devicePixelRatio || 1;
  if (canvas.width !== Math.round(width * ratio) || canvas.height !== Math.round(height * ratio)) {
    canvas.width = Math.round(width * ratio);
    canvas.height = Math.round(height * ratio);
    canvas.style.width = `${width}px`;
    canvas.style.height = `${height}px`;
  }
  const context = canvas.getContext("2d");
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  context.clearRect(0, 0, width, height);
  return context;
}

/** Diagonal lines over nothing: what is promised and not there yet. */
export function hatched(context, colour) {
  const tile = document.createElement("canvas");
  tile.width = 6;
  tile.height = 6;
  const pen = tile.getContext("2d");
  pen.strokeStyle = colour;
  pen.lineWidth = 1.6;
  pen.beginPath();
  for (const shift of [-6, 0, 6]) {
    pen.moveTo(shift, 6);
    pen.lineTo(shift + 6, 0);
  }
  pen.stroke();
  return context.createPattern(tile, "repeat");
}
