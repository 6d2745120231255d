// What does a transition hold at each of its stages, and how near is that to what there is?

import { element, said, saidBytes } from "./view_controls.js";

/** One transition's stages as a table, a bar below each number, each axis' highest stage bold, and
 * the stage that the map shows marked. */
export function stagesOf(facts, data, staged, here) {
  const names = facts.stages[staged].map((name) => facts.stage_names[name]);
  let before = 0;
  for (let i = 0; i < staged; i += 1) before += facts.stages[i].length;
  const axesCount = facts.axes.length;
  const use = (stage, axis) => {
    const at = ((before + stage) * axesCount + axis) * 3;
    const [allocated, reserved, capacity] = data.stage_uses.subarray(at, at + 3);
    return { allocated, reserved, capacity, used: allocated + reserved };
  };
  const axes = facts.axes.map((_, axis) => axis).filter((axis) => use(0, axis).capacity > 0);
  const head = element("tr", {}, element("th", {}, "used, of"), ...names.map((name, stage) => element("th", stage === here ? { class: "nl-here", "aria-current": "step" } : {}, name)));
  const rows = axes.map((axis) => {
    const all = names.map((_, stage) => use(stage, axis));
    const highest = Math.max(...all.map((each) => each.used));
    const word = (value) => (axis === facts.host_bytes_axis ? saidBytes(value) : said(value));
    const name = `${facts.axes[axis].replace(" bytes", "")}, ${word(all[0].capacity)}`;
    return element("tr", {}, element("th", {}, name), ...all.map((each) => cellOf(facts, each, each.used === highest, word)));
  });
  return element(
    "div",
    {},
    element("h4", {}, "This transition, stage by stage (bold: the highest, which must fit)"),
    element("table", { class: "nl-stages" }, head, ...rows),
  );
}

function cellOf(facts, { allocated, reserved, used, capacity }, isHighest, word) {
  const share = (part) => `${((100 * part) / capacity).toFixed(1)}%`;
  const bar = `background:linear-gradient(90deg, ${facts.allocated_colour} 0 ${share(allocated)}, ${facts.reserved_colour} 0 ${share(allocated + reserved)}, var(--nl-free) 0);`;
  const words = isHighest ? element("b", {}, word(used)) : word(used);
  return element(
    "td",
    { class: used > capacity ? "nl-over" : "", title: `${word(allocated)} allocated, ${word(reserved)} reserved, of ${word(capacity)}` },
    words,
    element("div", { style: `${bar}height:6px;width:96px;margin:1px 0 3px` }),
  );
}
