import assert from "node:assert/strict";
import test from "node:test";
import { freedWords } from "../../../../ninfer_lab/lab/widgets/pressure_ladders_words.js";

test("what is freed is said alone and jointly where the two differ", () => {
  assert.deepEqual(freedWords([50, 1], [50, 1]), { words: "frees 50 pages + 1 slot", differs: false });
  assert.deepEqual(freedWords([125, 0], [188, 0]), { words: "frees 125 → 188 pages", differs: true });
  assert.deepEqual(freedWords([1, 0], [0, 2]), { words: "frees 1 → 0 page + 0 → 2 slots", differs: true });
  assert.deepEqual(freedWords([0, 0], [0, 0]), { words: "frees nothing", differs: false });
});
