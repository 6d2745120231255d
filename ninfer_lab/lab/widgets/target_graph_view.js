// The targets of one decision, from identities downward.

import { columns } from "./view_columns.js";
import { button, element, focusable, rendering, saidTime, set, stepBar } from "./view_controls.js";
import { inkOn, mixed, onTheme, pageColours, sized } from "./view_paint.js";
import { graphOf, hiddenBelow, links, neighbour, nextOfVerdict, places, shades, targetAt, visible } from "./target_graph_layout.js";
import { toldOf } from "./target_graph_told.js";

const [, NO_SLOT, INFEASIBLE, UNSEEN] = [0, 1, 2, 3];
const EDGES_DRAWN = 900;
const SHADES = 24;
const PALEST = 0.82;

function build(life) {
  const { model, root } = life;
  const facts = model.get("facts");
  const data = columns(model.get("columns"), model.get("columns_at"));
  const graph = graphOf(data, facts);
  const view = {
    facts,
    graph,
    shade: shades(graph),
    open: new Set(),
    sought: new Set(),
    all: false,
    fills: new Map(),
    number: new Map(facts.incumbents.map((target, i) => [target, i + 1])),
  };
  const canvas = focusable(
    element("canvas", { role: "application" }),
    `${graph.count} targets of ${facts.name}. Arrow keys move between them, Enter opens what is below, n goes to the next that does not fit; what is chosen is read out beside.`,
  );
  const drawn = element("div", { class: "nl-drawn" }, canvas);
  const told = element("div", { class: "nl-told", role: "region", "aria-live": "polite", "aria-label": "the chosen target" });
  const steps = stepBar(life, {
    label: "looks of the search",
    words: (step) => `after ${step} of ${model.get("steps_count") - 1} looks${best(view, step)}`,
  });

  const paint = () => draw(view, canvas, model);
  const again = () => life.paintSoon(paint);
  const relaid = () => {
    const width = Math.max(420, drawn.clientWidth || root.clientWidth * 0.6 || 620);
    view.shown = visible(graph, view);
    view.placed = places(graph, view.shown, width, facts.candidates.length);
    view.links = links(graph, view.shown);
    again();
  };
  const tell = () => {
    const target = model.get("selected");
    told.replaceChildren(
      target === null
        ? element("p", { class: "nl-said" }, "Choose a target to read what it comes to.")
        : toldOf(graph, data, facts, target),
    );
  };
  const choose = (target) => {
    if (target !== null && !view.shown[target]) {
      view.sought.add(target);
      relaid();
    }
    set(model, "selected", target);
  };
  const inSight = () => {
    const target = model.get("selected");
    if (target === null) return;
    const y = view.placed.y[target];
    const [top, tall] = [drawn.scrollTop, drawn.clientHeight];
    if (y < top + 20 || y > top + tall - 20) drawn.scrollTop = y - tall / 2;
  };
  const toggle = (target) => {
    if (target === null) return;
    if (!view.open.delete(target)) view.open.add(target);
    relaid();
  };
  const showAll = (isAll) => {
    view.all = isAll;
    if (!isAll) {
      view.open.clear();
      view.sought.clear();
    }
    relaid();
  };
  const next = (verdict) => choose(nextOfVerdict(graph, verdict, model.get("selected")));

  root.append(
    element("p", { class: "nl-title" }, `Targets of ${facts.name}`),
    element("p", { class: "nl-said" }, headline(view)),
    element(
      "div",
      { class: "nl-bar" },
      button("The path of the best", "identities and whatever was the best so far", () => showAll(false)),
      button(`All ${graph.count.toLocaleString("en-US")}`, "every target at once (a)", () => showAll(true)),
      button("Next that does not fit", "in the order of looks (n)", () => next(INFEASIBLE)),
    ),
    legend(view),
    steps.bar,
    element("div", { class: "nl-body" }, drawn, told),
    element("p", { class: "nl-hint" }, "Click a target to read it; click +n to open what is hidden below. Keys: arrows, ", ...kbd("Enter"), " open, ", ...kbd("n"), " next that does not fit, ", ...kbd("a"), " all, ", ...kbd("Home"), " and ", ...kbd("End"), " along the path of the best."),
  );
  life.on(canvas, "click", (event) => {
    const [x, y] = [event.offsetX, event.offsetY];
    const pill = view.pills.find((each) => Math.abs(each.x - x) < 15 && Math.abs(each.y - y) < 9);
    if (pill) toggle(pill.target);
    else choose(targetAt(view.placed, view.shown, x, y));
  });
  life.on(canvas, "mousemove", (event) => {
    const target = targetAt(view.placed, view.shown, event.offsetX, event.offsetY);
    canvas.style.cursor = target === null ? "default" : "pointer";
    canvas.title = target === null ? "" : hover(view, target);
  });
  life.on(canvas, "keydown", (event) => {
    const target = model.get("selected");
    const path = facts.incumbents;
    if (event.key.startsWith("Arrow")) choose(target === null ? path[0] ?? 0 : neighbour(view.placed, view.shown, target, event.key));
    else if (event.key === "Enter" || event.key === "+") toggle(target);
    else if (event.key === "n") next(INFEASIBLE);
    else if (event.key === "a") showAll(!view.all);
    else if (event.key === "Home" && path.length) choose(path[0]);
    else if (event.key === "End" && path.length) choose(path[path.length - 1]);
    else if (event.key === "Escape") choose(null);
    else return;
    event.preventDefault();
  });
  life.onChange("step", again);
  life.onChange("selected", () => {
    const target = model.get("selected");
    if (target !== null && !view.shown[target]) {
      view.sought.add(target);
      relaid();
    }
    tell();
    inSight();
    again();
  });
  onTheme(life, again);
  const watcher = new ResizeObserver(life.safe(relaid));
  watcher.observe(drawn);
  life.ends.push(() => watcher.disconnect());
  canvas.placeOf = (target) => [view.placed.x[target], view.placed.y[target]];
  relaid();
  tell();
  paint();
}

function kbd(...keys) {
  return keys.map((key) => element("kbd", {}, key));
}

function headline({ facts, graph }) {
  const parts = facts.verdicts.filter((each) => each.count).map((each) => `${each.words}: ${each.count.toLocaleString("en-US")}`);
  const untold = facts.untold_count ? ` ${facts.untold_count.toLocaleString("en-US")} more were seen and not recorded.` : "";
  return `${graph.count.toLocaleString("en-US")} complete end states. ${parts.join("; ").replace(/^./, (first) => first.toUpperCase())}.${untold}`;
}

function best({ facts, graph }, step) {
  const found = facts.incumbents.filter((target) => graph.look[target] <= step);
  if (!found.length) return ": nothing that fits yet";
  return `: the best has J ${saidTime(graph.total[found[found.length - 1]])}`;
}

function hover({ facts, graph, placed }, target) {
  const look = graph.look[target] ? `, look ${graph.look[target]}` : "";
  const cost = graph.total[target] > 0 ? `, J ${saidTime(graph.total[target])}` : "";
  return `target ${target}: ${facts.verdicts[graph.verdict[target]].words}${look}${cost}`;
}

// ── the legend ──────────────────────────────────────────────────────────────────────────────────

const SHAPES = [
  (colour) => `background:${colour};border-radius:50%`,
  (colour) => `background:${colour};transform:rotate(45deg) scale(.8)`,
  (colour) => `background:${colour}`,
  (colour) => `border:1.5px solid ${colour};border-radius:50%`,
];

function legend({ facts, shade }) {
  const entry = (style, words, content = "") => element("span", {}, element("i", { style }, content), words);
  const row = element("div", { class: "nl-legend" });
  facts.verdicts.forEach((verdict, i) => {
    if (verdict.count) row.append(entry(SHAPES[i](verdict.colour), verdict.words));
  });
  if (Number.isFinite(shade.low)) {
    const ramp = `width:54px;height:9px;background:linear-gradient(90deg, ${facts.verdicts[0].colour}, var(--nl-paper));border:1px solid var(--nl-line)`;
    row.append(entry(ramp, `J from ${saidTime(shade.low)} to ${saidTime(shade.high)}: the fuller the colour, the cheaper`));
  }
  const number = "border:1.5px solid var(--nl-ink);border-radius:50%;font:9px/10px sans-serif;text-align:center;font-style:normal";
  row.append(entry(number, "the best so far, in the order of finding", "1"));
  if (facts.incumbents.length) row.append(entry(`border:2.5px solid ${facts.running_colour};border-radius:50%`, "taken"));
  row.append(entry("border-top:1.5px dashed var(--nl-quiet);height:0", `several ${facts.level}s, those between hidden`));
  return row;
}

// ── painting ────────────────────────────────────────────────────────────────────────────────────

function draw(view, canvas, model) {
  const { placed } = view;
  const pen = sized(canvas, placed.width, placed.height);
  const page = pageColours(canvas);
  const step = model.get("step");
  const selected = model.get("selected");
  view.pills = [];
  drawFrame(pen, page, view);
  drawLinks(pen, page, view, selected);
  drawPath(pen, page, view, step);
  drawTargets(pen, page, view, step);
  for (const target of view.facts.incumbents) {
    if (view.shown[target] && view.graph.look[target] <= step) drawIncumbent(pen, page, view, target);
  }
  if (selected !== null && view.shown[selected]) drawSelected(pen, page, view, selected);
}

function drawFrame(pen, page, { placed, facts }) {
  pen.font = `12px ${page.font}`;
  pen.fillStyle = page.ink;
  pen.textAlign = "center";
  pen.textBaseline = "alphabetic";
  facts.candidates.forEach((words, i) => {
    const { left, width } = placed.columns[i];
    words.split(", ").forEach((line, at) => pen.fillText(line, left + width / 2, 14 + at * 15, width + 22));
  });
  pen.fillStyle = page.quiet;
  pen.textAlign = "left";
  pen.font = `11px ${page.font}`;
  for (const { depth, y } of placed.rows) {
    pen.fillText(depth === 0 ? "identities" : `${depth} ${facts.level}${depth > 1 ? "s" : ""}`, 2, y + 4);
  }
}

function drawLinks(pen, page, { facts, links: all, placed }, selected) {
  const isFew = all.length <= EDGES_DRAWN;
  for (const { from, to, steps } of all) {
    const isNear = from === selected || to === selected;
    if (!isFew && !isNear) continue;
    pen.strokeStyle = isNear ? page.ink : page.line;
    pen.globalAlpha = isNear ? 0.8 : all.length > 120 ? 0.35 : 0.8;
    pen.lineWidth = isNear ? 1.4 : 1;
    pen.setLineDash(steps > 1 ? [4, 3] : []);
    pen.beginPath();
    pen.moveTo(placed.x[from], placed.y[from]);
    pen.lineTo(placed.x[to], placed.y[to]);
    pen.stroke();
    if (steps > 1 && placed.isRoomy) {
      pen.globalAlpha = 1;
      pen.fillStyle = page.quiet;
      pen.font = `10.5px ${page.font}`;
      pen.textAlign = "left";
      pen.fillText(`${steps} ${facts.level}s`, (placed.x[from] + placed.x[to]) / 2 + 5, (placed.y[from] + placed.y[to]) / 2);
    }
  }
  pen.setLineDash([]);
  pen.globalAlpha = 1;
}

/** The chain of the best so far. */
function drawPath(pen, page, { facts, graph, placed, shown }, step) {
  const path = facts.incumbents.filter((target) => shown[target] && graph.look[target] <= step);
  pen.strokeStyle = page.ink;
  pen.fillStyle = page.ink;
  pen.lineWidth = 1.8;
  for (let i = 1; i < path.length; i += 1) {
    const [ax, ay, bx, by] = [placed.x[path[i - 1]], placed.y[path[i - 1]], placed.x[path[i]], placed.y[path[i]]];
    const far = Math.hypot(bx - ax, by - ay) || 1;
    const bend = Math.min(34, far * 0.18);
    const [mx, my] = [(ax + bx) / 2 - ((by - ay) / far) * bend, (ay + by) / 2 + ((bx - ax) / far) * bend];
    const angle = Math.atan2(by - my, bx - mx);
    const [tx, ty] = [bx - Math.cos(angle) * (placed.size.radius + 4), by - Math.sin(angle) * (placed.size.radius + 4)];
    pen.beginPath();
    pen.moveTo(ax, ay);
    pen.quadraticCurveTo(mx, my, tx, ty);
    pen.stroke();
    pen.beginPath();
    pen.moveTo(tx + Math.cos(angle) * 2, ty + Math.sin(angle) * 2);
    pen.lineTo(tx - Math.cos(angle - 0.45) * 9, ty - Math.sin(angle - 0.45) * 9);
    pen.lineTo(tx - Math.cos(angle + 0.45) * 9, ty - Math.sin(angle + 0.45) * 9);
    pen.fill();
  }
}

/** All shown targets; those of one look and shade as one path, for there may be thousands. */
function drawTargets(pen, page, view, step) {
  const { graph, facts, placed, shown } = view;
  const groups = new Map();
  for (let target = 0; target < graph.count; target += 1) {
    if (!shown[target]) continue;
    const isSeen = graph.look[target] > 0 && graph.look[target] <= step;
    const verdict = isSeen ? graph.verdict[target] : UNSEEN;
    const fill = fillOf(view, page, target, verdict);
    const key = `${verdict} ${fill}`;
    if (!groups.has(key)) groups.set(key, { verdict, fill, path: new Path2D() });
    addShape(groups.get(key).path, verdict, placed.x[target], placed.y[target], placed.size.radius);
  }
  pen.lineWidth = placed.isRoomy ? 1.6 : 1;
  for (const { verdict, fill, path } of groups.values()) {
    pen.fillStyle = fill;
    pen.fill(path);
    pen.strokeStyle = facts.verdicts[verdict].colour;
    pen.stroke(path);
  }
  if (!placed.isRoomy) return;
  for (let target = 0; target < graph.count; target += 1) {
    if (shown[target]) drawWords(pen, page, view, target, step);
  }
}

function addShape(path, verdict, x, y, size) {
  const radius = size * (verdict === UNSEEN ? 0.6 : verdict === INFEASIBLE ? 0.85 : 1);
  if (verdict === INFEASIBLE) path.rect(x - radius, y - radius, 2 * radius, 2 * radius);
  else if (verdict === NO_SLOT) {
    path.moveTo(x, y - radius);
    path.lineTo(x + radius, y);
    path.lineTo(x, y + radius);
    path.lineTo(x - radius, y);
    path.closePath();
  } else {
    path.moveTo(x + radius, y);
    path.arc(x, y, radius, 0, 7);
  }
}

/** J below a target, and the pill that says how much is hidden beneath it. */
function drawWords(pen, page, view, target, step) {
  const { graph, placed } = view;
  const [x, y] = [placed.x[target], placed.y[target]];
  const isSeen = graph.look[target] > 0 && graph.look[target] <= step;
  pen.textAlign = "center";
  if (isSeen && graph.total[target] > 0) {
    pen.font = `10.5px ${page.font}`;
    haloed(pen, page, saidTime(graph.total[target]), x, y + placed.size.radius + 13);
  }
  const hidden = hiddenBelow(graph, view.shown, target);
  if (hidden || view.open.has(target)) {
    const pill = { target, x: x + placed.size.radius + 12, y: y + 7 };
    view.pills.push(pill);
    pen.font = `10px ${page.font}`;
    const words = view.open.has(target) ? "−" : `+${hidden}`;
    const half = Math.max(9, pen.measureText(words).width / 2 + 4);
    pen.fillStyle = page.free;
    pen.strokeStyle = page.line;
    pen.lineWidth = 1;
    pen.beginPath();
    pen.roundRect(pill.x - half, pill.y - 7, 2 * half, 14, 7);
    pen.fill();
    pen.stroke();
    pen.fillStyle = page.ink;
    pen.fillText(words, pill.x, pill.y + 3.5);
  }
}

/** By verdict and J; a few shades of each, so that thousands of targets ask for few colours. */
function fillOf(view, page, target, verdict) {
  if (verdict === UNSEEN) return page.paper;
  const share = Math.round(view.shade.of(view.graph.total[target]) * SHADES) / SHADES;
  const key = `${verdict} ${share} ${page.paper}`;
  if (!view.fills.has(key)) {
    view.fills.set(key, mixed(view.facts.verdicts[verdict].colour, page.paper, share * PALEST));
  }
  return view.fills.get(key);
}

/** Words that stay readable where a line passes beneath. */
function haloed(pen, page, words, x, y) {
  pen.strokeStyle = page.paper;
  pen.lineWidth = 3;
  pen.strokeText(words, x, y);
  pen.fillStyle = page.ink;
  pen.fillText(words, x, y);
}

function drawIncumbent(pen, page, view, target) {
  const { facts, placed, number, graph } = view;
  const [x, y] = [placed.x[target], placed.y[target]];
  const isTaken = facts.incumbents[facts.incumbents.length - 1] === target;
  const radius = Math.max(9, placed.size.radius);
  pen.beginPath();
  pen.arc(x, y, radius, 0, 7);
  const fill = fillOf(view, page, target, graph.verdict[target]);
  pen.fillStyle = fill;
  pen.fill();
  pen.strokeStyle = isTaken ? facts.running_colour : page.ink;
  pen.lineWidth = isTaken ? 3 : 1.8;
  pen.stroke();
  pen.fillStyle = inkOn(fill);
  pen.font = `bold 11px ${page.font}`;
  pen.textAlign = "center";
  pen.fillText(String(number.get(target)), x, y + 4);
}

function drawSelected(pen, page, { placed }, target) {
  pen.strokeStyle = page.ink;
  pen.lineWidth = 1.5;
  pen.setLineDash([3, 2]);
  pen.beginPath();
  pen.arc(placed.x[target], placed.y[target], placed.size.radius + 5, 0, 7);
  pen.stroke();
  pen.setLineDash([]);
}

export default { render: rendering("nl-target-graph", "target graph", build) };
