import assert from "node:assert/strict";
import test from "node:test";
import { columns, grouped } from "../../../../ninfer_lab/lab/widgets/view_columns.js";
import { changed, placeOf, said, saidBytes, saidTime, stepForKey } from "../../../../ninfer_lab/lab/widgets/view_controls.js";
import { inkOn, mixed, rgb } from "../../../../ninfer_lab/lab/widgets/view_paint.js";

test("columns come back from a buffer that begins anywhere", () => {
  const sent = new Uint8Array(8 + 16 + 3);
  sent.set([9, 8, 7], 3);
  new DataView(sent.buffer).setInt32(3 + 8, -5, true);
  new DataView(sent.buffer).setInt32(3 + 12, 6, true);
  const found = columns(new DataView(sent.buffer, 3, 24), { few: ["u8", 0, 3], ids: ["i32", 8, 2] });
  assert.deepEqual([...found.few], [9, 8, 7]);
  assert.deepEqual([...found.ids], [-5, 6]);
  assert.throws(() => columns(new DataView(sent.buffer), { odd: ["f16", 0, 1] }), /column odd: no kind f16/);
});

test("members are found by their group", () => {
  const found = grouped([2, 0, 2, 0], [10, 11, 12, 13], 3);
  assert.deepEqual([0, 1, 2].map((group) => [...found.of(group)]), [[11, 13], [], [10, 12]]);
});

test("keys lead to steps within", () => {
  assert.equal(stepForKey("ArrowRight", 9, 10), 9);
  assert.equal(stepForKey("ArrowLeft", 0, 10), 0);
  assert.equal(stepForKey("PageDown", 3, 100), 13);
  assert.equal(stepForKey("End", 0, 10), 9);
  assert.equal(stepForKey("Home", 5, 10), 0);
  assert.equal(stepForKey("x", 0, 10), null);
});

test("the last stop at or before a step", () => {
  assert.equal(placeOf([0, 4, 9], 8), 1);
  assert.equal(placeOf([0, 4, 9], 9), 2);
  assert.equal(placeOf([3, 4], 1), 0);
});

test("numbers are said with their unit", () => {
  assert.equal(said(1234567), "1,234,567");
  assert.equal(saidTime(1_230_600_000), "1.23 s");
  assert.equal(saidTime(514_400_000), "514.4 ms");
  assert.equal(saidTime(0), "0 µs");
  assert.equal(saidBytes(2048), "2 kB");
  assert.equal(saidBytes(260_000_000), "260 MB");
});

test("colours are mixed, and words on them can be read", () => {
  assert.deepEqual(rgb("#abc"), [170, 187, 204]);
  assert.deepEqual(rgb("rgb(1, 2, 3)"), [1, 2, 3]);
  assert.equal(mixed("#000000", "#ffffff", 0.5), "rgb(128, 128, 128)");
  assert.equal(inkOn("#0072B2"), "#ffffff");
  assert.equal(inkOn("#F0E442"), "#1a1a1a");
});

test("an act is done again only when it is given something else", () => {
  const done = [];
  const once = changed((a, b) => done.push([a, b]));
  for (const given of [[1, null], [1, null], [1, 2], [3, 2], [3, 2]]) once(...given);
  assert.deepEqual(done, [[1, null], [1, 2], [3, 2]]);
});
