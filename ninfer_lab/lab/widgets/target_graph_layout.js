// Where does each target stand, and which of them are shown? Pure: no page is needed.

import { grouped } from "./view_columns.js";

/** Verdicts, as `NodeVerdict` orders them; 0 fits. */
export const [, NO_SLOT, INFEASIBLE, UNSEEN] = [0, 1, 2, 3];

export const ROOMY = { spacing: 62, line: 66, radius: 13, top: 54, gap: 0 };
export const CROWDED = { spacing: 13, line: 13, radius: 5, top: 54, gap: 22 };
const MARGIN = 74;
const LEAST_WIDTH = 96;
const COLUMN_GAP = 26;

/** What is asked of the graph, from its columns. */
export function graphOf(data, facts) {
  const count = data.depth.length;
  const terms = facts.terms.length;
  const total = new Float64Array(count).fill(NaN);
  data.target_of_look.forEach((target, look) => {
    let sum = 0;
    for (let t = 0; t < terms; t += 1) sum += data.terms[look * terms + t];
    total[target] = sum;
  });
  return {
    count,
    depth: data.depth,
    candidate: data.candidate,
    look: data.look,
    ofLook: data.target_of_look,
    verdict: data.verdict,
    total,
    incumbents: facts.incumbents,
    below: grouped(data.from, data.to, count),
    above: grouped(data.to, data.from, count),
  };
}

/** 1 for every target that is shown: identities, incumbents, what was opened or sought out. */
export function visible(graph, { open, sought, all }) {
  const shown = new Uint8Array(graph.count);
  if (all) return shown.fill(1);
  for (let i = 0; i < graph.count; i += 1) if (graph.depth[i] === 0) shown[i] = 1;
  for (const i of graph.incumbents) shown[i] = 1;
  for (const i of sought) shown[i] = 1;
  for (const i of open) {
    shown[i] = 1;
    for (const lower of graph.below.of(i)) shown[lower] = 1;
  }
  return shown;
}

/** Shown targets that the search judged between two of its looks, whichever is the later. */
export function seenBetween(graph, shown, one, other) {
  const looked = graph.ofLook.subarray(Math.min(one, other), Math.max(one, other));
  return Array.from(looked).filter((target) => shown[target]);
}

/** The pill at a point, or null. */
export function pillAt(pills, x, y) {
  return pills.find((each) => Math.abs(each.x - x) <= each.half + 3 && Math.abs(each.y - y) <= 10) ?? null;
}

/** How many of a target's next targets are not shown. */
export function hiddenBelow(graph, shown, target) {
  let hidden = 0;
  for (const lower of graph.below.of(target)) hidden += 1 - shown[lower];
  return hidden;
}

/** What is joined by a line: {from, to, steps}; more than one step where those between are hidden. */
export function links(graph, shown) {
  const found = [];
  for (let target = 0; target < graph.count; target += 1) {
    if (!shown[target]) continue;
    let near = false;
    for (const upper of graph.above.of(target)) {
      if (shown[upper]) {
        found.push({ from: upper, to: target, steps: 1 });
        near = true;
      }
    }
    if (!near && graph.depth[target] > 0) {
      const far = nearestAbove(graph, shown, target);
      if (far) found.push(far);
    }
  }
  return found;
}

function nearestAbove(graph, shown, target) {
  let level = [target];
  const met = new Set(level);
  for (let steps = 1; level.length; steps += 1) {
    const next = [];
    for (const at of level) {
      for (const upper of graph.above.of(at)) {
        if (shown[upper]) return { from: upper, to: target, steps };
        if (!met.has(upper)) {
          met.add(upper);
          next.push(upper);
        }
      }
    }
    level = next;
  }
  return null;
}

/** Shown targets by candidate and depth, each block by J, what has none last. */
function blocksOf(graph, shown) {
  const blocks = new Map();
  for (let i = 0; i < graph.count; i += 1) {
    if (!shown[i]) continue;
    const key = graph.candidate[i] * 65536 + graph.depth[i];
    if (!blocks.has(key)) blocks.set(key, []);
    blocks.get(key).push(i);
  }
  const order = (a, b) =>
    (Number.isNaN(graph.total[a]) - Number.isNaN(graph.total[b])) ||
    (Number.isNaN(graph.total[a]) ? 0 : graph.total[a] - graph.total[b]) || a - b;
  return [...blocks].map(([key, targets]) => ({
    candidate: Math.floor(key / 65536),
    depth: key % 65536,
    targets: targets.sort(order),
  }));
}

/** Where everything stands on a canvas of at least `width` CSS pixels. */
export function places(graph, shown, width, candidatesCount) {
  const blocks = blocksOf(graph, shown);
  const most = new Array(candidatesCount).fill(1);
  for (const block of blocks) {
    most[block.candidate] = Math.max(most[block.candidate], block.targets.length);
  }
  const widths = widthsOf(most, width - MARGIN - COLUMN_GAP * (candidatesCount - 1) - 20);
  const isRoomy = most.every((count, c) => count * ROOMY.spacing <= widths[c] + 1);
  const size = isRoomy ? ROOMY : CROWDED;
  const columns = [];
  let left = MARGIN;
  for (const wide of widths) {
    columns.push({ left, width: wide });
    left += wide + COLUMN_GAP;
  }
  const x = new Float32Array(graph.count);
  const y = new Float32Array(graph.count);
  const rows = [];
  const depths = [...new Set(blocks.map((block) => block.depth))].sort((a, b) => a - b);
  let top = size.top + size.radius;
  for (const depth of depths) {
    let lines = 1;
    for (const block of blocks) {
      if (block.depth !== depth) continue;
      lines = Math.max(lines, put(block.targets, columns[block.candidate], top, size, x, y));
    }
    rows.push({ depth, y: top });
    top += lines * size.line + size.gap;
  }
  return { x, y, rows, columns, size, isRoomy, width: left - COLUMN_GAP + 20, height: top + 6 };
}

/** The room of each column: what its largest block asks for, and no less than its name takes. */
function widthsOf(most, room) {
  const least = Math.min(LEAST_WIDTH, room / most.length);
  const rest = room - least * most.length;
  const shares = most.map((count) => Math.sqrt(count) - 1);
  const all = shares.reduce((sum, share) => sum + share, 0);
  return shares.map((share) => least + rest * (all ? share / all : 1 / most.length));
}

function put(targets, column, top, size, x, y) {
  const perLine = Math.max(1, Math.floor(column.width / size.spacing));
  const lines = Math.ceil(targets.length / perLine);
  targets.forEach((target, i) => {
    const line = Math.floor(i / perLine);
    const here = Math.min(perLine, targets.length - line * perLine);
    const spacing = Math.min(size.spacing * 1.5, column.width / here);
    x[target] = column.left + column.width / 2 + ((i % perLine) - (here - 1) / 2) * spacing;
    y[target] = top + line * size.line;
  });
  return lines;
}

/** The target at a point, or null. */
export function targetAt(placed, shown, px, py) {
  let best = null;
  let nearest = (placed.size.radius + 4) ** 2;
  for (let i = 0; i < shown.length; i += 1) {
    if (!shown[i]) continue;
    const far = (placed.x[i] - px) ** 2 + (placed.y[i] - py) ** 2;
    if (far <= nearest) {
      nearest = far;
      best = i;
    }
  }
  return best;
}

/** The shown target that an arrow key leads to from one, or the one itself. */
export function neighbour(placed, shown, from, key) {
  const along = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] }[key];
  let best = from;
  let least = Infinity;
  for (let i = 0; i < shown.length; i += 1) {
    if (!shown[i] || i === from) continue;
    const dx = placed.x[i] - placed.x[from];
    const dy = placed.y[i] - placed.y[from];
    const ahead = dx * along[0] + dy * along[1];
    const aside = Math.abs(along[0] ? dy : dx);
    if (ahead <= 0.5 || (along[0] && aside > 0.5)) continue;
    // Up and down: the next row first, in it the nearest.
    const far = along[0] ? ahead : ahead * 8 + aside;
    if (far < least) {
      least = far;
      best = i;
    }
  }
  return best;
}

/** The next target of a verdict after one, in the order of looks, going round; null if none. */
export function nextOfVerdict(graph, verdict, after) {
  const from = after === null ? 0 : graph.look[after];
  let next = null;
  let first = null;
  for (let i = 0; i < graph.count; i += 1) {
    if (graph.verdict[i] !== verdict || !graph.look[i]) continue;
    if (first === null || graph.look[i] < graph.look[first]) first = i;
    if (graph.look[i] > from && (next === null || graph.look[i] < graph.look[next])) next = i;
  }
  return next ?? first;
}

/** 0 for the cheapest of known J, 1 for the dearest, by ratio. */
export function shades(graph) {
  let low = Infinity;
  let high = 0;
  for (const total of graph.total) {
    if (total > 0) {
      low = Math.min(low, total);
      high = Math.max(high, total);
    }
  }
  const span = Math.log(high / low) || 1;
  const of = (total) => (total > 0 ? Math.log(total / low) / span : 0);
  return { low, high, of };
}
