import assert from "node:assert/strict";
import test from "node:test";
import { eventAt, eventMiddle } from "../../../../ninfer_lab/lab/widgets/stepper_lanes.js";
import { frontierOf, haltFrom, thereAt, usesAt, windowAbout } from "../../../../ninfer_lab/lab/widgets/stepper_state.js";

const data = {
  req_id: Int32Array.of(7, 8, 9),
  req_came: Int32Array.of(0, 2, 9),
  req_admitted: Int32Array.of(1, 6, -1),
  req_ended: Int32Array.of(5, -1, -1),
  req_reuse: Int32Array.of(0, 30, 0),
  run_event: Int32Array.of(3, 4, 7, 7),
  run_request: Int32Array.of(7, 7, 8, 10),
  run_end: Int32Array.of(64, 65, 40, 99),
  use_event: Int32Array.of(1, 7),
  uses: Float64Array.of(1, 2, 3, 0, 0, 0, 4, 5, 9, 0, 0, 0),
};

test("halts are found on and back, and the ends hold", () => {
  const stops = Int32Array.of(2, 5, 9);
  assert.deepEqual([0, 2, 3, 9].map((step) => haltFrom(stops, step, 1)), [2, 5, 5, 9]);
  assert.deepEqual([0, 2, 3, 9, 12].map((step) => haltFrom(stops, step, -1)), [0, 2, 2, 5, 9]);
  assert.equal(haltFrom(new Int32Array(0), 4, 1), 4);
});

test("who waits, runs and has ended", () => {
  assert.deepEqual(thereAt(data, 0), { waiting: [0], running: [], ended: 0 });
  assert.deepEqual(thereAt(data, 3), { waiting: [1], running: [0], ended: 0 });
  assert.deepEqual(thereAt(data, 9), { waiting: [2], running: [1], ended: 1 });
});

test("how far a request had come", () => {
  assert.equal(frontierOf(data, 0, 3), 64);
  assert.equal(frontierOf(data, 0, 4), 65);
  assert.equal(frontierOf(data, 1, 6), 30);
  assert.equal(frontierOf(data, 1, 8), 40);
});

test("what was in use, of axes that there are", () => {
  assert.deepEqual(usesAt(data, 2, 0), []);
  assert.deepEqual(usesAt(data, 2, 6), [{ axis: 0, allocated: 1, reserved: 2, capacity: 3 }]);
  assert.deepEqual(usesAt(data, 2, 7), [{ axis: 0, allocated: 4, reserved: 5, capacity: 9 }]);
});

test("a window stays within", () => {
  assert.deepEqual(windowAbout(0, 100, 20), [0, 20]);
  assert.deepEqual(windowAbout(50, 100, 20), [40, 60]);
  assert.deepEqual(windowAbout(99, 100, 20), [80, 100]);
  assert.deepEqual(windowAbout(3, 5, 20), [0, 5]);
});

test("an event is found again by its middle, and none outside the range", () => {
  const range = [100, 150];
  for (const event of [100, 101, 149]) assert.equal(eventAt(range, 700, eventMiddle(range, 700, event)), event);
  assert.equal(eventMiddle(range, 700, 99), null);
  assert.equal(eventMiddle(range, 700, 150), null);
});
