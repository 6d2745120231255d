import assert from "node:assert/strict";
import test from "node:test";
import {
  Frames, KEYFRAME_STEPS, planStarts, cellAt, panelPlaces, promisedCells, runsOf,
} from "../../../../ninfer_lab/lab/widgets/placement_frames.js";

/** A walk over `cells` places: at each step one of them changes, by a fixed rule. */
function walk(steps, cells) {
  const start = Int32Array.from({ length: steps + 1 }, (_, i) => i);
  const cell = Int32Array.from({ length: steps }, (_, i) => (i * 7) % cells);
  const mark = Int32Array.from({ length: steps }, (_, i) => (i * 5) % 11);
  const at = (step) => {
    const now = new Int32Array(cells);
    for (let i = 0; i <= step; i += 1) now[cell[i]] = mark[i];
    return now;
  };
  return { data: { start, cell, mark }, at };
}

test("every step is what its changes come to, in whatever order it is asked for", () => {
  const { data, at } = walk(500, 64);
  const frames = new Frames(data, 64);
  for (const step of [0, 499, 3, 64, 63, 65, 128, 127, 400, 401, 399, 0]) {
    assert.deepEqual(frames.at(step), at(step), `step ${step}`);
  }
});

test("a jump costs no more changes than lie between two keyframes", () => {
  const { data } = walk(5000, 64);
  const frames = new Frames(data, 64);
  for (const step of [4999, 10, 2500, 2499, 4998, 63]) {
    frames.applied = 0;
    frames.at(step);
    assert.ok(frames.applied < KEYFRAME_STEPS, `${frames.applied} for ${step}`);
  }
  frames.at(1000);
  frames.applied = 0;
  frames.at(1001);
  assert.equal(frames.applied, 1);
});

test("panels stand below each other, and a place is found by its point", () => {
  const panels = [
    { noun: "slot", first: 0, count: 4 },
    { noun: "page", first: 4, count: 100 },
    { noun: "granule", first: 104, count: 10 },
  ];
  const { placed, height } = panelPlaces(panels, 600);
  assert.deepEqual(placed.map((each) => each.kind), ["slot", "page", "granule"]);
  for (let i = 1; i < 3; i += 1) assert.ok(placed[i].top >= placed[i - 1].top + placed[i - 1].height);
  assert.ok(height >= placed[2].top + placed[2].height);
  const { top, columns, wide, tall } = placed[1];
  assert.equal(cellAt(placed, wide * 2.5, top + tall * 0.5), 6);
  assert.equal(cellAt(placed, wide * 0.5, top + tall * 1.5), 4 + columns);
  assert.equal(cellAt(placed, wide * (columns - 0.5), top + tall * 3.5), null);
  assert.equal(cellAt(placed, 595, placed[2].top + 2), 113);
  assert.equal(cellAt(placed, 10, 2), null);
});

test("neighbours with the same in them are one run", () => {
  assert.deepEqual(runsOf([9, 1, 1, 0, 2], 1, 4), [[0, 2, 1], [2, 3, 0], [3, 4, 2]]);
});

test("what is promised is shown on free places only", () => {
  assert.deepEqual(promisedCells([5, 0, 1, 0, 0], { first: 1, count: 4 }, 2), [1, 3]);
  assert.deepEqual(promisedCells([5, 0, 1, 0, 0], { first: 1, count: 4 }, -1), []);
});

test("an admission begins where its first stage is told", () => {
  const starts = (stage) => planStarts({ stage, plan: stage.map(() => 0), stages: [[0, 1, 2, 3]] });
  assert.deepEqual(starts([null, 1, 2, 3, 1, 3]), [1, 4], "the end of one, then the next");
  assert.deepEqual(starts([1, 1, 2, 2, 3, null, 1]), [0, 6], "beside copies in flight much else is told");
  assert.deepEqual(starts([3, 3, null]), [0, 1], "a design that tells the ends alone");
  assert.deepEqual(starts([1, 2, 1, 3]), [0, 2], "the first was given up between two stages");
});
