// How are targets painted, and after a step only those that look otherwise than before?

import { saidTime } from "./view_controls.js";
import { inkOn, mixed, sized } from "./view_paint.js";
import { INFEASIBLE, NO_SLOT, UNSEEN, hiddenBelow, seenBetween } from "./target_graph_layout.js";

const EDGES_DRAWN = 900;
const SHADES = 24;
const PALEST = 0.82;
const PATCHES_MOST = 160;
const PATCH_RIM = 1.5;

/** Paints the graph, and remembers what it painted.
 *
 * Where targets stand in a crowd, a step paints only those that it judges: none reaches into
 * another's place. Where they have room, with words between them, they are few, and all are painted.
 */
export class GraphPainter {
  constructor(canvas, view) {
    Object.assign(this, { canvas, view, fills: new Map(), painted: null });
  }

  paint(page, step, selected) {
    const { placed, graph, facts, shown } = this.view;
    const ratio = window.devicePixelRatio || 1;
    const now = { page, placed, ratio, step, near: placed.isRoomy ? selected : null };
    const before = this.painted;
    const stands = before && ["page", "placed", "ratio", "near"].every((each) => before[each] === now[each]);
    const judged = stands ? seenBetween(graph, shown, before.step, step) : [];
    const isFew = !placed.isRoomy && judged.length <= PATCHES_MOST && !judged.some((target) => facts.incumbents.includes(target));
    if (!stands || (judged.length && !isFew)) this.paintWhole(now);
    else for (const target of judged) this.paintAgain(target, now);
    this.painted = now;
  }

  paintWhole({ page, placed, step, near }) {
    const { view } = this;
    this.pen = sized(this.canvas, placed.width, placed.height);
    view.pills = [];
    drawFrame(this.pen, page, view);
    drawLinks(this.pen, page, view, near, null);
    drawPath(this.pen, page, view, step);
    this.drawTargets(page, step);
    this.drawIncumbents(page, step, null);
  }

  /** One target and what passes beneath and above it, within its own place. */
  paintAgain(target, { page, placed, ratio, step }) {
    const { pen, view } = this;
    const reach = placed.size.radius + PATCH_RIM;
    // On whole pixels of the screen, whatever its zoom, so that no rim of what was there is left.
    const snapped = (at) => Math.round(at * ratio) / ratio;
    const [left, right] = [snapped(placed.x[target] - reach), snapped(placed.x[target] + reach)];
    const [top, bottom] = [snapped(placed.y[target] - reach), snapped(placed.y[target] + reach)];
    pen.save();
    pen.beginPath();
    pen.rect(left, top, right - left, bottom - top);
    pen.clip();
    pen.clearRect(left, top, right - left, bottom - top);
    drawLinks(pen, page, view, null, { left, right, top, bottom });
    drawPath(pen, page, view, step);
    const { verdict, fill } = this.lookOf(page, target, step);
    const path = new Path2D();
    addShape(path, verdict, placed.x[target], placed.y[target], placed.size.radius);
    this.drawShapes(verdict, fill, path);
    this.drawIncumbents(page, step, { left, right, top, bottom });
    pen.restore();
  }

  /** All shown targets; those of one look and shade as one path, for there may be thousands. */
  drawTargets(page, step) {
    const { view } = this;
    const { placed, shown } = view;
    const groups = new Map();
    for (let target = 0; target < shown.length; target += 1) {
      if (!shown[target]) continue;
      const { verdict, fill } = this.lookOf(page, target, step);
      const key = `${verdict} ${fill}`;
      if (!groups.has(key)) groups.set(key, { verdict, fill, path: new Path2D() });
      addShape(groups.get(key).path, verdict, placed.x[target], placed.y[target], placed.size.radius);
    }
    for (const { verdict, fill, path } of groups.values()) this.drawShapes(verdict, fill, path);
    if (!placed.isRoomy) return;
    for (let target = 0; target < shown.length; target += 1) {
      if (shown[target]) drawWords(this.pen, page, view, target, step);
    }
  }

  drawShapes(verdict, fill, path) {
    const { pen, view } = this;
    pen.lineWidth = view.placed.isRoomy ? 1.6 : 1;
    pen.fillStyle = fill;
    pen.fill(path);
    pen.strokeStyle = view.facts.verdicts[verdict].colour;
    pen.stroke(path);
  }

  drawIncumbents(page, step, box) {
    const { facts, graph, shown, placed } = this.view;
    const reach = Math.max(9, placed.size.radius) + 2;
    for (const target of facts.incumbents) {
      if (!shown[target] || graph.look[target] > step) continue;
      const [x, y] = [placed.x[target], placed.y[target]];
      if (box && isApart(box, x - reach, y - reach, x + reach, y + reach)) continue;
      drawIncumbent(this.pen, page, this.view, target, this.fillOf(page, target, graph.verdict[target]));
    }
  }

  /** As the search had it after so many looks. */
  lookOf(page, target, step) {
    const { graph } = this.view;
    const isSeen = graph.look[target] > 0 && graph.look[target] <= step;
    const verdict = isSeen ? graph.verdict[target] : UNSEEN;
    return { verdict, fill: this.fillOf(page, target, verdict) };
  }

  /** By verdict and J; a few shades of each, so that thousands of targets ask for few colours. */
  fillOf(page, target, verdict) {
    if (verdict === UNSEEN) return page.paper;
    const { shade, graph, facts } = this.view;
    const share = Math.round(shade.of(graph.total[target]) * SHADES) / SHADES;
    const key = `${verdict} ${share} ${page.paper}`;
    if (!this.fills.has(key)) this.fills.set(key, mixed(facts.verdicts[verdict].colour, page.paper, share * PALEST));
    return this.fills.get(key);
  }
}

/** The ring about what is chosen, and where a crowd leaves links untold apart, those that meet there.
 * Three shapes over the canvas, which is left as it is. */
export class ChosenMark {
  constructor() {
    // Read as markup, for the parser knows which shapes are drawn; nothing of it comes from a run.
    const line = 'fill="none" stroke="var(--nl-ink)" stroke-width="1.5"';
    const holder = document.createElement("div");
    holder.innerHTML = `<svg class="nl-over-it" aria-hidden="true"><path ${line} opacity="0.8"/><path ${line} opacity="0.8" stroke-dasharray="4 3"/><circle ${line} stroke-dasharray="3 2"/></svg>`;
    this.node = holder.firstChild;
    [this.near, this.far, this.ring] = this.node.children;
  }

  show({ placed, shown, links: all }, selected) {
    if (this.placed === placed && this.selected === selected) return;
    Object.assign(this, { placed, selected });
    const isThere = selected !== null && Boolean(shown[selected]);
    this.node.style.display = isThere ? "block" : "none";
    if (!isThere) return;
    const { x, y, size, isRoomy, width, height } = placed;
    const lines = { near: "", far: "" };
    for (const { from, to, steps } of isRoomy ? [] : all) {
      if (from !== selected && to !== selected) continue;
      const apart = Math.hypot(x[to] - x[from], y[to] - y[from]) || 1;
      const [dx, dy] = [((x[to] - x[from]) / apart) * size.radius, ((y[to] - y[from]) / apart) * size.radius];
      lines[steps > 1 ? "far" : "near"] += `M${x[from] + dx} ${y[from] + dy}L${x[to] - dx} ${y[to] - dy}`;
    }
    this.near.setAttribute("d", lines.near);
    this.far.setAttribute("d", lines.far);
    const ring = { cx: x[selected], cy: y[selected], r: size.radius + 5 };
    for (const [name, value] of Object.entries(ring)) this.ring.setAttribute(name, value);
    Object.entries({ width, height }).forEach(([name, value]) => this.node.setAttribute(name, value));
  }
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

/** Lines between targets, those at `near` in ink; within a box only, where there is one. */
function drawLinks(pen, page, { facts, links: all, placed }, near, box) {
  if (all.length > EDGES_DRAWN) return;
  const { x, y } = placed;
  for (const { from, to, steps } of all) {
    if (box && isApart(box, x[from], y[from], x[to], y[to])) continue;
    const isNear = from === near || to === near;
    pen.strokeStyle = isNear ? page.ink : page.line;
    pen.globalAlpha = isNear ? 0.8 : all.length > 120 ? 0.35 : 0.8;
    pen.lineWidth = isNear ? 1.4 : 1;
    pen.setLineDash(steps > 1 ? [4, 3] : []);
    pen.beginPath();
    pen.moveTo(x[from], y[from]);
    pen.lineTo(x[to], y[to]);
    pen.stroke();
    if (steps > 1 && placed.isRoomy) {
      pen.globalAlpha = 1;
      pen.fillStyle = page.quiet;
      pen.font = `10.5px ${page.font}`;
      pen.textAlign = "left";
      pen.fillText(`${steps} ${facts.level}s`, (x[from] + x[to]) / 2 + 5, (y[from] + y[to]) / 2);
    }
  }
  pen.setLineDash([]);
  pen.globalAlpha = 1;
}

function isApart({ left, right, top, bottom }, ax, ay, bx, by) {
  return Math.max(ax, bx) < left || Math.min(ax, bx) > right || Math.max(ay, by) < top || Math.min(ay, by) > bottom;
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
    plated(pen, page, saidTime(graph.total[target]), x, y + placed.size.radius + 13);
  }
  const hidden = hiddenBelow(graph, view.shown, target);
  if (hidden || view.open.has(target)) {
    pen.font = `10px ${page.font}`;
    const words = view.open.has(target) ? "−" : `+${hidden}`;
    const half = Math.max(9, pen.measureText(words).width / 2 + 4);
    // Beside the ring of what is chosen, which reaches 5 beyond a target.
    const pill = { target, hidden, half, x: x + placed.size.radius + 8 + half, y: y + 7 };
    view.pills.push(pill);
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

/** Words on a plate of the page's own colour: a line that passes beneath does not strike them out. */
function plated(pen, page, words, x, y) {
  const half = pen.measureText(words).width / 2 + 2;
  pen.fillStyle = page.paper;
  pen.fillRect(x - half, y - 10, 2 * half, 13);
  pen.fillStyle = page.ink;
  pen.fillText(words, x, y);
}

function drawIncumbent(pen, page, { facts, placed, number }, target, fill) {
  const [x, y] = [placed.x[target], placed.y[target]];
  const isTaken = facts.incumbents[facts.incumbents.length - 1] === target;
  const radius = Math.max(9, placed.size.radius);
  pen.beginPath();
  pen.arc(x, y, radius, 0, 7);
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
