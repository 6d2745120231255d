// Every slot, page and byte range at each moment of a run.

import { columns } from "./view_columns.js";
import { button, clamp, element, focusable, placeOf, rendering, said, saidBytes, set, stepBar } from "./view_controls.js";
import { hatched, inkOn, onTheme, pageColours, sized } from "./view_paint.js";
import { SLOT, Frames, admissionStarts, cellAt, panelPlaces, promisedCells, runsOf } from "./placement_frames.js";
import { stagesOf } from "./placement_stages.js";

const STRIP_HEIGHT = 34;
const LEGEND_HOLDERS = 14;

function build(life) {
  const { model, root } = life;
  const facts = model.get("facts");
  const data = columns(model.get("columns"), model.get("columns_at"));
  const last = facts.panels[facts.panels.length - 1];
  const view = { facts, data, frames: new Frames(data, last.first + last.count), hover: null, inks: new Map() };
  const stops = Array.from(data.event);
  const canvas = focusable(
    element("canvas", { role: "application" }),
    `places of ${facts.name}. Left and right arrows step through its moments; what has happened is read out below.`,
  );
  const strip = element("canvas", { role: "img", "aria-label": "use of every axis over the run", style: "cursor:pointer;display:block" });
  const drawn = element("div", { class: "nl-drawn", style: "flex-basis:100%" }, canvas);
  const said = element("p", { "aria-live": "polite", style: "min-height:2.9em;margin:2px 0" });
  const hover = element("p", { class: "nl-hint", style: "min-height:1.45em" });
  const legend = element("div", { class: "nl-legend" });
  const stages = element("div", { class: "nl-told", style: "max-height:none" });
  const count = model.get("steps_count");
  const starts = admissionStarts(facts);
  const steps = stepBar(life, { label: "moments of the run", words: (step) => momentWords(view, step, count) });

  const paint = () => {
    view.marks = view.frames.at(clamp(model.get("step"), 0, count - 1));
    draw(view, canvas, model.get("step"), model.get("selected"));
    drawStrip(view, strip, model.get("step"));
  };
  const tell = () => {
    const step = model.get("step");
    const marks = view.frames.at(step);
    said.replaceChildren(...happened(view, step));
    legend.replaceChildren(...legendOf(view, marks));
    const admission = facts.admission[step];
    stages.replaceChildren(admission === null ? "" : stagesOf(facts, data, admission, facts.stage[step]));
    hover.textContent = placeWords(view, marks, view.hover ?? model.get("selected"));
  };
  const relaid = () => {
    const width = Math.max(360, drawn.clientWidth || root.clientWidth || 900);
    view.width = width;
    view.laid = panelPlaces(facts.panels, width);
    life.paintSoon(paint);
  };
  const stagedAfter = (by) => {
    const here = model.get("step");
    const next = by > 0 ? starts.find((step) => step > here) : starts.findLast((step) => step < here);
    if (next !== undefined) set(model, "step", next);
  };

  root.append(
    element("p", { class: "nl-title" }, `Where everything lies: ${facts.name}`),
    steps.bar,
    strip,
    element("p", { class: "nl-hint", style: "margin:0" }, "over the run: Device pages in use (filled), promised (pale), and StateImage slots (line), each of what there is; click to go there"),
    starts.length
      ? element("div", { class: "nl-bar" }, button("◀ admission", "the admission before (p)", () => stagedAfter(-1)), button("admission ▶", "the next admission, with its stages (n)", () => stagedAfter(1)))
      : "",
    said,
    legend,
    element("div", { class: "nl-body" }, drawn),
    hover,
    stages,
    element("p", { class: "nl-hint" }, "Point at a place, or click it, to read what it is and who refers to it. Keys: ", element("kbd", {}, "←"), " ", element("kbd", {}, "→"), " step, ", element("kbd", {}, "PgUp"), " ", element("kbd", {}, "PgDn"), " ten, ", element("kbd", {}, "Home"), " ", element("kbd", {}, "End"), ", ", element("kbd", {}, "space"), " play", starts.length ? ", n and p from admission to admission." : "."),
  );
  life.on(canvas, "mousemove", (event) => {
    view.hover = cellAt(view.laid.placed, event.offsetX, event.offsetY);
    hover.textContent = placeWords(view, view.marks, view.hover ?? model.get("selected"));
  });
  life.on(canvas, "mouseleave", () => {
    view.hover = null;
    hover.textContent = placeWords(view, view.marks, model.get("selected"));
  });
  life.on(canvas, "click", (event) => set(model, "selected", cellAt(view.laid.placed, event.offsetX, event.offsetY)));
  life.on(canvas, "keydown", (event) => {
    if (event.key === "n") stagedAfter(1);
    else if (event.key === "p") stagedAfter(-1);
    else steps.keyed(event);
  });
  life.on(strip, "click", (event) => set(model, "step", clamp(Math.floor((event.offsetX / view.width) * count), 0, count - 1)));
  life.onChange("step", () => {
    set(model, "event", stops[model.get("step")]);
    tell();
    life.paintSoon(paint);
  });
  life.onChange("event", () => {
    if (stops[model.get("step")] !== model.get("event")) set(model, "step", placeOf(stops, model.get("event")));
  });
  life.onChange("selected", () => {
    tell();
    life.paintSoon(paint);
  });
  onTheme(life, () => life.paintSoon(paint));
  const watcher = new ResizeObserver(life.safe(relaid));
  watcher.observe(drawn);
  life.ends.push(() => watcher.disconnect());
  canvas.spotOf = (cell) => spotOf(view, cell);
  relaid();
  tell();
  paint();
}

function momentWords({ data, facts }, step, count) {
  const ms = (data.at_ns[step] - data.at_ns[0]) / 1e6;
  const time = data.at_ns[count - 1] > data.at_ns[0] ? `, ${ms.toLocaleString("en-US", { maximumFractionDigits: 2 })} ms` : "";
  const stage = facts.stage[step] === null ? "" : ` · stage ${facts.stage[step] + 1} of ${facts.stages[facts.admission[step]].length}`;
  return `moment ${said(step + 1)} of ${said(count)}${time}${stage}`;
}

function happened({ facts }, step) {
  const words = facts.words[step];
  const phase = facts.phases[step];
  return [
    element("b", {}, `${words[0].toUpperCase()}${words.slice(1)}`),
    phase ? element("span", { class: "nl-said" }, ` — a transition is open: ${phase}`) : "",
  ];
}

/** What a place is, and who refers to it. */
function placeWords({ facts }, marks, cell) {
  if (cell === null || cell === undefined) return "";
  const panel = facts.panels.find((each) => cell >= each.first && cell < each.first + each.count);
  const [holders, words, isHeld, isPinned] = facts.marks[marks[cell]];
  const where = `${panel.title.split(",")[0]}, ${panel.noun} ${said(cell - panel.first)}: `;
  if (isHeld) return `${where}held, and nothing is there yet`;
  if (!holders.length) return `${where}free`;
  const who = holders.map((holder) => facts.holders[holder][0]);
  const shared = who.length > 1 ? `, shared by ${who.length}` : "";
  return `${where}${words ? `${words}, ` : ""}${who.join(" and ")}${shared}${isPinned ? ", pinned by a reader" : ""}`;
}

function legendOf({ facts }, marks) {
  const there = new Set();
  for (const mark of new Set(marks)) for (const holder of facts.marks[mark][0]) there.add(holder);
  const entry = (style, words) => element("span", {}, element("i", { style }), words);
  const shown = [...there].sort((a, b) => a - b);
  const entries = shown.slice(0, LEGEND_HOLDERS).map((holder) => entry(`background:${facts.holders[holder][1]}`, facts.holders[holder][0]));
  if (shown.length > LEGEND_HOLDERS) entries.push(element("span", {}, `and ${shown.length - LEGEND_HOLDERS} more`));
  entries.push(entry("background:var(--nl-free);border:1px solid var(--nl-line)", "free"));
  const lines = "repeating-linear-gradient(135deg, var(--nl-quiet) 0 1.5px, transparent 1.5px 4px)";
  entries.push(entry(`background:${lines};border:1px solid var(--nl-line)`, "promised or held, nothing there yet"));
  entries.push(entry(`background:linear-gradient(180deg, ${facts.allocated_colour} 0 50%, #E69F00 50%)`, "shared, in the colours of its holders"));
  entries.push(entry("border:2.5px solid var(--nl-accent)", "pinned: about to be read by another"));
  return entries;
}

// ── painting ────────────────────────────────────────────────────────────────────────────────────

function spotOf(view, cell) {
  const found = view.laid.placed.find(({ panel }) => cell >= panel.first && cell < panel.first + panel.count);
  const place = cell - found.panel.first;
  return [(place % found.columns + 0.5) * found.wide, found.top + (Math.floor(place / found.columns) + 0.5) * found.tall];
}

function draw(view, canvas, step, selected) {
  const pen = sized(canvas, view.width, view.laid.height);
  const page = pageColours(canvas);
  const lines = hatched(pen, page.quiet);
  for (const laid of view.laid.placed) drawPanel(pen, page, lines, view, laid, step);
  if (selected !== null && selected !== undefined) {
    const [x, y] = spotOf(view, selected);
    pen.strokeStyle = page.ink;
    pen.lineWidth = 2;
    pen.setLineDash([3, 2]);
    pen.beginPath();
    pen.arc(x, y, 13, 0, 7);
    pen.stroke();
    pen.setLineDash([]);
  }
}

function drawPanel(pen, page, lines, view, laid, step) {
  const { panel, kind, top, columns: perLine, wide, tall } = laid;
  const { facts, data, marks } = view;
  const at = (step * facts.axes.length + panel.axis) * 3;
  const [allocated, reserved, capacity] = data.uses.subarray(at, at + 3);
  const word = panel.axis === facts.host_bytes_axis ? saidBytes : said;
  const promised = reserved ? `, ${word(reserved)} more promised or held` : "";
  pen.font = `12px ${page.font}`;
  pen.fillStyle = page.ink;
  pen.textAlign = "left";
  pen.fillText(`${panel.title}: ${word(allocated)} of ${word(capacity)} in use${promised}`, 0, top - 6);
  if (kind === "granule") {
    for (const [start, end, mark] of runsOf(marks, panel.first, panel.count)) {
      drawPlace(pen, page, lines, facts, mark, start * wide, top, (end - start) * wide, tall - 4);
    }
    return;
  }
  const gap = kind === "slot" && wide > SLOT.width ? SLOT.gap : wide > 8 ? 2 : 1;
  const held = [];
  for (let place = 0; place < panel.count; place += 1) {
    const x = (place % perLine) * wide;
    const y = top + Math.floor(place / perLine) * tall;
    const mark = marks[panel.first + place];
    drawPlace(pen, page, lines, facts, mark, x, y, wide - gap, tall - gap);
    if (facts.marks[mark][2]) held.push(place);
    if (kind === "slot" && wide > SLOT.width) drawSlotWords(pen, page, view, mark, place, x, y);
  }
  for (const cell of promisedCells(marks, panel, reserved - held.length)) {
    const place = cell - panel.first;
    pen.fillStyle = lines;
    pen.fillRect((place % perLine) * wide, top + Math.floor(place / perLine) * tall, wide - gap, tall - gap);
  }
}

function drawPlace(pen, page, lines, facts, mark, x, y, width, height) {
  const [holders, , isHeld, isPinned] = facts.marks[mark];
  if (!holders.length) {
    pen.fillStyle = page.free;
    pen.fillRect(x, y, width, height);
  }
  const stripe = height / holders.length;
  for (let i = 0; i < holders.length; i += 1) {
    pen.fillStyle = facts.holders[holders[i]][1];
    pen.fillRect(x, y + i * stripe, width, stripe);
  }
  if (isHeld) {
    pen.fillStyle = lines;
    pen.fillRect(x, y, width, height);
  }
  if (isPinned) {
    pen.strokeStyle = page.accent;
    pen.lineWidth = 3;
    pen.strokeRect(x + 1.5, y + 1.5, width - 3, height - 3);
  }
}

function drawSlotWords(pen, page, { facts, inks }, mark, place, x, y) {
  const [holders, words, isHeld] = facts.marks[mark];
  const colour = holders.length ? facts.holders[holders[0]][1] : null;
  if (colour && !inks.has(colour)) inks.set(colour, inkOn(colour));
  pen.fillStyle = colour && holders.length === 1 ? inks.get(colour) : page.ink;
  if (holders.length > 1) pen.fillStyle = "#1a1a1a";
  pen.font = `11px ${page.font}`;
  pen.textAlign = "center";
  const who = holders.map((holder) => facts.holders[holder][0].replace("running in ", ""));
  const [first, second] = isHeld ? ["held", ""] : holders.length ? [who.join(", "), words] : [`${place}: free`, ""];
  pen.fillText(first, x + SLOT.width / 2, y + (second ? 16 : 24), SLOT.width - 8);
  if (second) pen.fillText(second, x + SLOT.width / 2, y + 31, SLOT.width - 8);
}

/** Use over the run: Device pages filled, Device slots as a line; the moment it stands at marked. */
function drawStrip({ facts, data, width }, strip, step) {
  const pen = sized(strip, width, STRIP_HEIGHT);
  const page = pageColours(strip);
  const count = data.event.length;
  const axesCount = facts.axes.length;
  const share = (moment, axis, withReserved) => {
    const at = (moment * axesCount + axis) * 3;
    return (data.uses[at] + (withReserved ? data.uses[at + 1] : 0)) / (data.uses[at + 2] || 1);
  };
  const pages = facts.panels.find((panel) => panel.noun === "page")?.axis ?? 0;
  const slots = facts.panels[0].axis;
  pen.fillStyle = page.free;
  pen.fillRect(0, 0, width, STRIP_HEIGHT);
  for (let x = 0; x < width; x += 1) {
    const moment = Math.min(count - 1, Math.floor((x / width) * count));
    for (const [withReserved, colour] of [[true, facts.reserved_colour], [false, facts.allocated_colour]]) {
      const tall = share(moment, pages, withReserved) * STRIP_HEIGHT;
      pen.fillStyle = colour;
      pen.fillRect(x, STRIP_HEIGHT - tall, 1, tall);
    }
    pen.fillStyle = page.ink;
    pen.fillRect(x, STRIP_HEIGHT - share(moment, slots, true) * (STRIP_HEIGHT - 2), 1, 1.5);
  }
  const at = ((step + 0.5) / count) * width;
  pen.fillStyle = page.accent;
  pen.fillRect(at - 1.5, 0, 3, STRIP_HEIGHT);
}

export default { render: rendering("nl-placement-map", "placement map", build) };
