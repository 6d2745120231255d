// Every slot, page and byte range at each moment of a run.

import { columns } from "./view_columns.js";
import { button, changed, clamp, element, focusable, placeOf, rendering, said, set, stepBar } from "./view_controls.js";
import { marked, themed } from "./view_paint.js";
import { Frames, planStarts, cellAt, panelPlaces } from "./placement_frames.js";
import { PlacesPainter, paintStrip } from "./placement_paint.js";
import { stagesOf } from "./placement_stages.js";

const STRIP_HEIGHT = 34;
const LEGEND_HOLDERS = 14;

function build(life) {
  const { model, root } = life;
  const facts = model.get("facts");
  const data = columns(model.get("columns"), model.get("columns_at"));
  const last = facts.panels[facts.panels.length - 1];
  const view = { facts, data, frames: new Frames(data, last.first + last.count), hover: null };
  const stops = Array.from(data.event);
  const canvas = focusable(
    element("canvas", { role: "application" }),
    `places of ${facts.name}. Left and right arrows step through its moments; what has happened is read out below.`,
  );
  const strip = element("canvas", { role: "img", "aria-label": "use of every axis over the run", style: "cursor:pointer;display:block" });
  const painter = new PlacesPainter(canvas, facts, data);
  const here = marked(strip, "var(--nl-accent)");
  const ring = element("div", { class: "nl-ring", style: "display:none" });
  const drawn = element("div", { class: "nl-drawn", style: "flex-basis:100%" }, canvas, ring);
  const said = element("p", { "aria-live": "polite", style: "min-height:2.9em;margin:2px 0" });
  const hover = element("p", { class: "nl-hint", style: "min-height:1.45em" });
  const legend = element("div", { class: "nl-legend" });
  const stages = element("div", { class: "nl-told", style: "max-height:none" });
  const count = model.get("steps_count");
  const starts = planStarts(facts);
  const steps = stepBar(life, { label: "moments of the run", words: (step) => momentWords(view, step, count) });

  const theme = themed(life, root, () => life.paintSoon(paint));
  const paint = () => {
    const page = theme.page();
    const step = clamp(model.get("step"), 0, count - 1);
    view.marks = view.frames.at(step);
    here.to(((step + 0.5) / count) * view.width);
    painter.paint(page, view.laid, view.width, view.marks, step);
    if (view.strip?.page !== page || view.strip.width !== view.width) {
      paintStrip(strip, page, facts, data, view.width, STRIP_HEIGHT);
      view.strip = { page, width: view.width };
    }
  };
  // What stands beside the places is made again where it says something else, and left otherwise.
  const legendOnce = changed((there) => legend.replaceChildren(...legendOf(view, there)));
  const stagesOnce = changed((plan, stage) => stages.replaceChildren(plan === null ? "" : stagesOf(facts, data, plan, stage)));
  const hoverOnce = changed((words) => { hover.textContent = words; });
  const hovered = () => hoverOnce(placeWords(view, view.marks, view.hover ?? model.get("selected")));
  const tell = () => {
    const step = model.get("step");
    view.marks = view.frames.at(step);
    said.replaceChildren(...happened(view, step));
    legendOnce(holdersOf(view, view.marks));
    stagesOnce(facts.plan[step], facts.stage[step]);
    hovered();
  };
  const encircle = () => {
    const cell = model.get("selected");
    const isChosen = cell !== null && cell !== undefined;
    ring.style.display = isChosen ? "block" : "none";
    if (!isChosen) return;
    const [x, y] = spotOf(view, cell);
    ring.style.transform = `translate(${x}px, ${y}px)`;
  };
  const relaid = () => {
    const width = Math.max(360, drawn.clientWidth || root.clientWidth || 900);
    theme.forget();
    view.width = width;
    view.laid = panelPlaces(facts.panels, width);
    encircle();
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
    here.box,
    element("p", { class: "nl-hint", style: "margin:0" }, "over the run: Device pages in use (filled), promised (pale), and StateImage slots (line), each of what there is; click to go there"),
    starts.length
      ? element("div", { class: "nl-bar" }, button("◀ transition", "the transition before (p)", () => stagedAfter(-1)), button("transition ▶", "the next transition, with its stages (n)", () => stagedAfter(1)))
      : "",
    said,
    legend,
    element("div", { class: "nl-body" }, drawn),
    hover,
    stages,
    element("p", { class: "nl-hint" }, "Point at a place, or click it, to read what it is and who refers to it. Keys: ", element("kbd", {}, "←"), " ", element("kbd", {}, "→"), " step, ", element("kbd", {}, "PgUp"), " ", element("kbd", {}, "PgDn"), " ten, ", element("kbd", {}, "Home"), " ", element("kbd", {}, "End"), ", ", element("kbd", {}, "space"), " play", ...(starts.length ? [", ", element("kbd", {}, "n"), " and ", element("kbd", {}, "p"), " from transition to transition."] : ["."])),
  );
  life.on(canvas, "mousemove", (event) => {
    view.hover = cellAt(view.laid.placed, event.offsetX, event.offsetY);
    hovered();
  });
  life.on(canvas, "mouseleave", () => {
    view.hover = null;
    hovered();
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
    hovered();
    encircle();
  });
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
  const stage = facts.stage[step] === null ? "" : ` · stage ${facts.stage[step] + 1} of ${facts.stages[facts.plan[step]].length}`;
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

/** Who refers to anything at this moment, in the order of their coming; as a key, too. */
function holdersOf({ facts }, marks) {
  const there = new Set();
  for (const mark of new Set(marks)) for (const holder of facts.marks[mark][0]) there.add(holder);
  return [...there].sort((a, b) => a - b).join(" ");
}

function legendOf({ facts }, there) {
  const entry = (style, words) => element("span", {}, element("i", { style }), words);
  const shown = there ? there.split(" ").map(Number) : [];
  const entries = shown.slice(0, LEGEND_HOLDERS).map((holder) => entry(`background:${facts.holders[holder][1]}`, facts.holders[holder][0]));
  if (shown.length > LEGEND_HOLDERS) entries.push(element("span", {}, `and ${shown.length - LEGEND_HOLDERS} more`));
  entries.push(entry("background:var(--nl-free);border:1px solid var(--nl-line)", "free"));
  const lines = "repeating-linear-gradient(135deg, var(--nl-quiet) 0 1.5px, transparent 1.5px 4px)";
  entries.push(entry(`background:${lines};border:1px solid var(--nl-line)`, "promised or held, nothing there yet"));
  entries.push(entry(`background:linear-gradient(180deg, ${facts.allocated_colour} 0 50%, #E69F00 50%)`, "shared, in the colours of its holders"));
  entries.push(entry("border:2.5px solid var(--nl-accent)", "pinned: about to be read by another"));
  return entries;
}

function spotOf(view, cell) {
  const found = view.laid.placed.find(({ panel }) => cell >= panel.first && cell < panel.first + panel.count);
  const place = cell - found.panel.first;
  return [(place % found.columns + 0.5) * found.wide, found.top + (Math.floor(place / found.columns) + 0.5) * found.tall];
}

export default { render: rendering("nl-placement-map", "placement map", build) };
