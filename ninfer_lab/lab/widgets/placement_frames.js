// What lies in every place at a step? Changes are shipped; whole pictures are made here, every so
// many steps, so that a jump anywhere costs a bounded number of changes. Pure: no page is needed.

export const KEYFRAME_STEPS = 64;

export class Frames {
  constructor({ start, cell, mark }, cellsCount) {
    this.start = start;
    this.cell = cell;
    this.mark = mark;
    this.stepsCount = start.length - 1;
    this.now = new Int32Array(cellsCount);
    this.step = -1;
    this.applied = 0;
    this.keyframes = [];
    for (let step = 0; step < this.stepsCount; step += 1) {
      this.apply(step);
      if (step % KEYFRAME_STEPS === 0) this.keyframes.push(this.now.slice());
    }
  }

  apply(step) {
    for (let at = this.start[step]; at < this.start[step + 1]; at += 1) {
      this.now[this.cell[at]] = this.mark[at];
    }
    this.step = step;
    this.applied += 1;
  }

  /** The mark of every place at a step. */
  at(step) {
    const near = Math.floor(step / KEYFRAME_STEPS);
    if (step < this.step || near * KEYFRAME_STEPS > this.step) {
      this.now.set(this.keyframes[near]);
      this.step = near * KEYFRAME_STEPS;
    }
    while (this.step < step) this.apply(this.step + 1);
    return this.now;
  }
}

export const SLOT = { width: 138, height: 40, gap: 4 };
export const TITLE = 20;
const BETWEEN = 12;
const ARENA_HEIGHT = 26;

/** Size of a page's square by how many there are. */
export function pageSize(count) {
  if (count <= 160) return 22;
  if (count <= 800) return 15;
  return count <= 4000 ? 9 : 6;
}

/** Where each panel stands on a canvas of `width`: {top, columns, wide, tall, height}. */
export function panelPlaces(panels, width) {
  let top = 0;
  const placed = panels.map((panel) => {
    const kind = panel.noun.endsWith("slot") ? "slot" : panel.noun;
    let wide = pageSize(panel.count);
    let tall = wide;
    let columns = Math.max(1, Math.floor(width / wide));
    if (kind === "slot") {
      columns = Math.max(1, Math.floor(width / (SLOT.width + SLOT.gap)));
      wide = SLOT.width + SLOT.gap;
      tall = SLOT.height + SLOT.gap;
      if (panel.count > columns * 2) {
        wide = tall = pageSize(panel.count);
        columns = Math.max(1, Math.floor(width / wide));
      }
    } else if (kind === "granule") {
      columns = panel.count;
      wide = width / panel.count;
      tall = ARENA_HEIGHT;
    }
    const lines = Math.ceil(panel.count / columns);
    const found = { panel, kind, top: top + TITLE, columns, wide, tall, height: lines * tall };
    top = found.top + found.height + BETWEEN;
    return found;
  });
  return { placed, height: top };
}

/** The cell at a point, or null. */
export function cellAt(placed, x, y) {
  for (const { panel, top, columns, wide, tall } of placed) {
    const column = Math.floor(x / wide);
    const line = Math.floor((y - top) / tall);
    if (line < 0 || column < 0 || column >= columns) continue;
    const place = line * columns + column;
    if (y >= top && place < panel.count && line * columns < panel.count) return panel.first + place;
  }
  return null;
}

/** Neighbours with the same mark as one: [start, end, mark), from a panel's first cell. */
export function runsOf(marks, first, count) {
  const runs = [];
  let start = 0;
  for (let place = 1; place <= count; place += 1) {
    if (place === count || marks[first + place] !== marks[first + start]) {
      runs.push([start, place, marks[first + start]]);
      start = place;
    }
  }
  return runs;
}

/** The first `wanted` free places of a panel: where what is promised may come to lie. */
export function promisedCells(marks, panel, wanted) {
  const found = [];
  for (let place = 0; place < panel.count && found.length < wanted; place += 1) {
    if (marks[panel.first + place] === 0) found.push(panel.first + place);
  }
  return found;
}

/** The first moment of every plan that is carried out: no stage stands before it, or the end of another plan, or a
 * later stage of one that was given up. */
export function planStarts({ stage, plan, stages }) {
  const isFirst = (step) => {
    if (step === 0 || stage[step - 1] === null) return true;
    const last = stages[plan[step - 1]].length - 1;
    return stage[step - 1] === last || stage[step - 1] > stage[step];
  };
  return [...stage.keys()].filter((step) => stage[step] !== null && isFirst(step));
}
