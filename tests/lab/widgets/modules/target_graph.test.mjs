import assert from "node:assert/strict";
import test from "node:test";
import {
  graphOf, hiddenBelow, links, neighbour, nextOfVerdict, pillAt, places, seenBetween, shades, targetAt, visible,
} from "../../../../ninfer_lab/lab/widgets/target_graph_layout.js";

// A square 0 → 1, 2 → 3 with a tail 3 → 4, and a second candidate, 5.
const data = {
  depth: [0, 1, 1, 2, 3, 0],
  candidate: [0, 0, 0, 0, 0, 1],
  look: [1, 0, 4, 0, 2, 3],
  verdict: [2, 3, 0, 3, 0, 2],
  from: [0, 0, 1, 2, 3],
  to: [1, 2, 3, 3, 4],
  target_of_look: Int32Array.of(0, 4, 5, 2),
  terms: [5, 5, 100, 300, 1, 1, 20, 20],
};
const facts = { terms: ["now", "later"], incumbents: [4, 2] };
const graph = graphOf(data, facts);
const closed = { open: new Set(), sought: new Set(), all: false };

test("J is the sum of its terms, and unknown where nobody judged", () => {
  assert.deepEqual([...graph.total], [10, NaN, 40, NaN, 400, 2]);
});

test("a graph opens on identities and the path of the best", () => {
  assert.deepEqual([...visible(graph, closed)], [1, 0, 1, 0, 1, 1]);
  assert.deepEqual([...visible(graph, { ...closed, open: new Set([0]) })], [1, 1, 1, 0, 1, 1]);
  assert.deepEqual([...visible(graph, { ...closed, sought: [3] })], [1, 0, 1, 1, 1, 1]);
  assert.deepEqual([...visible(graph, { ...closed, all: true })], [1, 1, 1, 1, 1, 1]);
});

test("what is hidden below is counted", () => {
  const shown = visible(graph, closed);
  assert.equal(hiddenBelow(graph, shown, 0), 1);
  assert.equal(hiddenBelow(graph, shown, 2), 1);
  assert.equal(hiddenBelow(graph, shown, 4), 0);
});

test("a link says how many steps it stands for", () => {
  assert.deepEqual(links(graph, visible(graph, closed)), [
    { from: 0, to: 2, steps: 1 },
    { from: 2, to: 4, steps: 2 },
  ]);
});

test("targets stand by candidate and depth, cheapest first, and none on another", () => {
  const shown = visible(graph, { ...closed, all: true });
  const placed = places(graph, shown, 700, 2);
  assert.ok(placed.isRoomy);
  assert.ok(placed.y[0] < placed.y[1] && placed.y[1] === placed.y[2] && placed.y[2] < placed.y[3]);
  assert.ok(placed.x[2] < placed.x[1], "what has a J stands before what has none");
  assert.ok(placed.x[5] > placed.x[1], "another candidate, another column");
  assert.equal(targetAt(placed, shown, placed.x[3] + 4, placed.y[3]), 3);
  assert.equal(targetAt(placed, shown, placed.x[3] + 40, placed.y[3] + 40), null);
});

test("two thousand targets find room and stay apart", () => {
  const count = 2000;
  const wide = {
    count,
    depth: Uint16Array.from({ length: count }, (_, i) => Math.min(9, Math.floor(i / 100))),
    candidate: new Uint16Array(count),
    total: new Float64Array(count).fill(NaN),
  };
  const placed = places(wide, new Uint8Array(count).fill(1), 640, 1);
  assert.ok(!placed.isRoomy && placed.width <= 640);
  const spots = new Set(Array.from({ length: count }, (_, i) => `${Math.round(placed.x[i] / 6)} ${Math.round(placed.y[i] / 6)}`));
  assert.equal(spots.size, count);
});

test("arrows lead to the neighbour that is meant", () => {
  const shown = visible(graph, { ...closed, all: true });
  const placed = places(graph, shown, 700, 2);
  assert.equal(neighbour(placed, shown, 2, "ArrowRight"), 1);
  assert.equal(neighbour(placed, shown, 4, "ArrowUp"), 3);
  assert.equal(neighbour(placed, shown, 0, "ArrowUp"), 0);
});

test("the next of a verdict goes by looks, and round", () => {
  assert.equal(nextOfVerdict(graph, 2, null), 0);
  assert.equal(nextOfVerdict(graph, 2, 0), 5);
  assert.equal(nextOfVerdict(graph, 2, 5), 0);
  assert.equal(nextOfVerdict(graph, 1, null), null);
});

test("between two steps lies what was judged there, on and back", () => {
  const shown = visible(graph, closed);
  assert.deepEqual(seenBetween(graph, shown, 0, 4), [0, 4, 5, 2]);
  assert.deepEqual(seenBetween(graph, shown, 4, 2), [5, 2]);
  assert.deepEqual(seenBetween(graph, shown, 3, 3), []);
  assert.deepEqual(seenBetween(graph, [1, 1, 0, 1, 1, 1], 3, 4), []);
});

test("a pill is met a little beyond its rim", () => {
  const pills = [{ target: 3, x: 40, y: 20, half: 9 }, { target: 5, x: 90, y: 20, half: 14 }];
  assert.equal(pillAt(pills, 51, 27).target, 3);
  assert.equal(pillAt(pills, 106, 11).target, 5);
  assert.equal(pillAt(pills, 54, 20), null);
  assert.equal(pillAt(pills, 40, 33), null);
});

test("the cheapest has the fullest colour", () => {
  const shade = shades(graph);
  assert.deepEqual([shade.low, shade.high], [2, 400]);
  assert.equal(shade.of(2), 0);
  assert.equal(shade.of(400), 1);
  assert.equal(shade.of(NaN), 0);
});
