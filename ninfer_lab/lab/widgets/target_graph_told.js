// What is there to read about one target? Its whole end state, J term by term, and every inequality
// that fails; in words, so that a screen reader has all of it.

import { element, said, saidBytes, saidTime } from "./view_controls.js";

const WORK = 6;
const BROKEN = 7;

/** The panel of one target; `opener` is what opens and hides the targets below it. */
export function toldOf(graph, data, facts, target, opener) {
  const look = graph.look[target];
  const verdict = facts.verdicts[graph.verdict[target]].words;
  const ending = facts.incumbents[facts.incumbents.length - 1] === target ? " · taken" : "";
  const seen = look ? `looked at ${look} of ${data.target_of_look.length}` : "";
  const panel = element("div", {}, element("p", { class: "nl-title" }, `Target ${target}: ${verdict}${ending}`));
  panel.append(element("p", {}, [capital(facts.candidates[graph.candidate[target]]), seen].filter(Boolean).join(" · ")));
  if (opener) panel.append(element("p", {}, opener));
  if (look) panel.append(work(data, facts, look - 1));
  panel.append(...fates(data, facts, target));
  if (look) {
    panel.append(...broken(data, facts, look - 1));
    panel.append(...terms(data, facts, look - 1));
    panel.append(...stages(data, facts, look - 1));
  } else {
    panel.append(element("p", { class: "nl-said" }, "The search never judged it: whether it fits, and what it costs, nobody has asked."));
  }
  return panel;
}

function capital(words) {
  return words[0].toUpperCase() + words.slice(1);
}

function work(data, facts, look) {
  const [reuse, prefill, state, cow, down, up] = data.work.subarray(look * WORK, look * WORK + WORK);
  const parts = [`reuses ${said(reuse)} tokens`, `computes ${said(prefill)}`, `state by ${facts.states[state]}`];
  if (cow) parts.push(`${said(cow)} page${cow > 1 ? "s" : ""} copied for the writer`);
  if (down) parts.push(`${saidBytes(down)} to the Host`);
  if (up) parts.push(`${saidBytes(up)} from the Host`);
  return element("p", {}, parts.join(", "));
}

function fates(data, facts, target) {
  const owners = facts.owners.length;
  const row = data.fates.subarray(target * owners, (target + 1) * owners);
  const changed = [];
  let staying = 0;
  row.forEach((fate, owner) => {
    if (fate) changed.push(tr([facts.owners[owner], facts.words[owner][fate]]));
    else staying += 1;
  });
  const rest = staying === owners ? "Everybody stays as it is." : staying ? `The other ${staying > 1 ? said(staying) : "one"} stay${staying > 1 ? "" : "s"} as it is.`.replace("stay as it is", "stay as they are") : "";
  return [
    element("h4", {}, "What becomes of the owners"),
    element("table", {}, ...changed),
    element("p", { class: "nl-said" }, rest),
  ];
}

function broken(data, facts, look) {
  const found = [];
  for (let at = 0; at < data.broken.length; at += BROKEN) {
    if (data.broken[at] === look) found.push(sentence(facts, data.broken.subarray(at + 1, at + BROKEN)));
  }
  if (!found.length) return [];
  return [element("h4", {}, "Why it does not fit"), ...found];
}

function sentence(facts, [stage, axis, used, capacity, run, hole]) {
  const where = `at “${facts.stages[stage]}”, ${facts.axes[axis]}: `;
  const count = (value) => said(value);
  const what = Number.isNaN(run)
    ? [element("b", { class: "nl-over" }, `${count(used)} used > ${count(capacity)}`), " there are"]
    : [element("b", { class: "nl-over" }, `an extent of ${saidBytes(run)} finds no hole`), `; the largest has ${saidBytes(hole)}`];
  return element("p", {}, where, ...what);
}

function terms(data, facts, look) {
  const count = facts.terms.length;
  const values = [...data.terms.subarray(look * count, (look + 1) * count)];
  if (values.some(Number.isNaN)) return [];
  const total = values.reduce((a, b) => a + b, 0);
  const colour = (i) => (i < count - 2 ? facts.now_colour : facts.loss_colour);
  const bar = element("div", { style: "display:flex;height:9px;width:100%;max-width:340px;margin:2px 0 4px" });
  values.forEach((value, i) => {
    const part = `flex:${Math.max(0, value)} 0 0;background:${colour(i)};border-right:1px solid var(--nl-paper)`;
    if (value > 0) bar.append(element("span", { style: part }));
  });
  const swatch = (i) => element("i", { class: "nl-swatch", style: `background:${colour(i)}` });
  const rows = values.map((value, i) => tr([element("span", {}, swatch(i), facts.terms[i]), saidTime(value)], { 1: "nl-number" }));
  rows.push(tr([element("b", {}, "J"), element("b", {}, saidTime(total))], { 1: "nl-number" }));
  return [element("h4", {}, "J, term by term"), bar, element("table", {}, ...rows)];
}

function stages(data, facts, look) {
  const axes = facts.axes.length;
  const size = facts.stages.length * axes * 2;
  const uses = data.uses.subarray(look * size, (look + 1) * size);
  const at = (stage, axis) => uses[(stage * axes + axis) * 2];
  const capacity = (axis) => uses.find((_, i) => i % 2 && Math.floor((i / 2) % axes) === axis && !Number.isNaN(uses[i]));
  const told = facts.stages.map((_, stage) => stage).filter((stage) => !Number.isNaN(at(stage, 0)));
  const shown = facts.axes.map((_, axis) => axis).filter((axis) => capacity(axis) > 0);
  if (!told.length) return [];
  const word = (axis, value) => (axis === facts.host_bytes_axis ? saidBytes(value) : said(value));
  const head = element("tr", {}, element("th", {}, "used, of"), ...shown.map((axis) => element("th", {}, `${facts.axes[axis].replace(" bytes", "")} ${word(axis, capacity(axis))}`)));
  const rows = told.map((stage) =>
    tr(
      [facts.stages[stage], ...shown.map((axis) => word(axis, at(stage, axis)))],
      Object.fromEntries(shown.map((axis, i) => [i + 1, at(stage, axis) > capacity(axis) ? "nl-number nl-over" : "nl-number"])),
    ),
  );
  return [element("h4", {}, "Stage by stage"), element("table", {}, head, ...rows)];
}

function tr(cells, classes = {}) {
  return element("tr", {}, ...cells.map((cell, i) => element("td", { class: classes[i] ?? "" }, cell)));
}
