// How does a table cross from the kernel to the browser?
// One buffer holds every column; `at` says of each what it is, where it begins and how long it is.

const KINDS = {
  u8: Uint8Array,
  u16: Uint16Array,
  i32: Int32Array,
  f64: Float64Array,
};

/** Typed arrays by name. `view` is a DataView, as anywidget hands bytes over. */
export function columns(view, at) {
  // A message's buffer begins anywhere, and a typed array must begin at its own size: one copy.
  const whole = view.buffer.slice(view.byteOffset, view.byteOffset + view.byteLength);
  const found = {};
  for (const [name, [kind, offset, count]] of Object.entries(at)) {
    if (!(kind in KINDS)) throw new Error(`column ${name}: no kind ${kind}`);
    found[name] = new KINDS[kind](whole, offset, count);
  }
  return found;
}

/** Members of group g are `to[start[g]]` up to, not including, `to[start[g + 1]]`. */
export function grouped(groupOf, memberOf, groupsCount) {
  const start = new Int32Array(groupsCount + 1);
  for (const group of groupOf) start[group + 1] += 1;
  for (let g = 0; g < groupsCount; g += 1) start[g + 1] += start[g];
  const next = start.slice();
  const to = new Int32Array(memberOf.length);
  for (let i = 0; i < memberOf.length; i += 1) to[next[groupOf[i]]++] = memberOf[i];
  return { start, to, of: (g) => to.subarray(start[g], start[g + 1]) };
}
