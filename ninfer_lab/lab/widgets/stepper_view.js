// A run, stepped by event, request, worker cycle, transaction phase and stage; and forked.

import { columns } from "./view_columns.js";
import { button, changed, element, focusable, rendering, said, saidBytes, saidTime, set, stepBar } from "./view_controls.js";
import { marked, themed } from "./view_paint.js";
import { drawLanes, eventAt, eventMiddle, lanesHeight } from "./stepper_lanes.js";
import { frontierOf, haltFrom, thereAt, usesAt, windowAbout } from "./stepper_state.js";
import { stagesOf } from "./placement_stages.js";

const UNITS = [
  ["request", "r"],
  ["cycle", "c"],
  ["phase", "p"],
  ["stage", "s"],
];
const NEAR = 160;

function build(life) {
  const { model, root } = life;
  const facts = model.get("facts");
  const run = { facts, look: facts, data: columns(model.get("columns"), model.get("columns_at")) };
  const count = model.get("steps_count");
  const canvas = (label) => focusable(element("canvas", { role: "img", style: "display:block;cursor:pointer" }), label);
  const whole = canvas(`the whole run ${facts.name}, ${count} events, lane by lane`);
  const near = canvas("the events about this one; arrow keys step");
  const forkWhole = element("canvas", { role: "img", "aria-label": "the fork, event by event", style: "display:block" });
  const forkCaption = caption("the fork; dashed: the first difference");
  const forkLines = element("div", { class: "nl-told", "aria-live": "polite", style: "max-height:none" });
  const told = element("div", { class: "nl-told", role: "region", "aria-live": "polite", "aria-label": "this event", style: "max-height:none" });
  const stops = run.data.stops_event;
  const steps = stepBar(life, {
    label: "events of the run",
    stops,
    words: (step) => `event ${said(step)} of ${said(count - 1)}, ${saidTime(run.data.at_ns[step])}`,
  });
  const state = { width: 900, ranges: new Map(), fork: null };
  const wholeHere = marked(whole, facts.running_colour);
  const forkHere = marked(forkWhole, facts.running_colour);

  // A run as a whole looks the same at every step: only what says "here" moves over it.
  const wholeOnce = changed((page, width, selected, fork) => {
    const place = { width, selected, difference: fork?.facts.difference, step: null };
    drawLanes(whole, page, run, [0, count], place);
    if (fork) drawLanes(forkWhole, page, fork, [0, forkCount()], place);
    for (const each of [forkCaption, forkHere.box]) each.style.display = fork ? "block" : "none";
  });
  // On the scale of the run it left, so that the two stand below each other.
  const forkCount = () => Math.max(count, state.fork?.data.kind.length ?? 0);
  const theme = themed(life, root, () => again());
  const paint = () => {
    const page = theme.page();
    const step = model.get("step");
    const selected = model.get("selected");
    const range = windowAbout(step, count, NEAR);
    state.ranges.set(whole, [0, count]);
    state.ranges.set(near, range);
    const tall = lanesHeight(facts);
    wholeHere.to(eventMiddle([0, count], state.width, step), tall);
    forkHere.to(eventMiddle([0, forkCount()], state.width, step), tall);
    drawLanes(near, page, run, range, { width: state.width, step, selected, difference: state.fork?.facts.difference });
    wholeOnce(page, state.width, selected, state.fork);
  };
  const again = () => life.paintSoon(paint);
  const tell = () => told.replaceChildren(...happened(run, model.get("step"), model.get("selected")));
  const halt = (unit, by) => set(model, "step", haltFrom(run.data[`stops_${unit}`], model.get("step"), by));
  const forked = () => {
    const lines = model.get("fork_lines") ?? [];
    const content = model.get("fork_columns");
    const forkFacts = model.get("fork_facts") ?? {};
    state.fork = content && forkFacts.words
      ? { facts: forkFacts, look: facts, data: columns(content, model.get("fork_columns_at")) }
      : null;
    forkLines.replaceChildren(...(lines.length ? [linesOf(lines)] : []));
    again();
  };

  root.append(
    element("p", { class: "nl-title" }, `Step by step: ${facts.name}`),
    steps.bar,
    element("div", { class: "nl-bar" }, ...UNITS.map(([unit, key]) => {
      const back = button("◀", `back by one ${unit} (Shift+${key.toUpperCase()})`, () => halt(unit, -1));
      back.setAttribute("aria-label", `back by one ${unit}`);
      return element("span", { class: "nl-pair" }, back, button(`${unit} ▶`, `on by one ${unit} (${key})`, () => halt(unit, 1)));
    })),
    legend(facts),
    element("div", { class: "nl-drawn", style: "max-height:none" }, caption("about this event"), near, caption("the whole run"), wholeHere.box, forkCaption, forkHere.box),
    told,
    ...forkBar(life, facts, model),
    forkLines,
    element("p", { class: "nl-hint" }, "Keys: arrows by event; ", ...UNITS.flatMap(([unit, key], i) => [i ? ", " : "", element("kbd", {}, key), ` ${unit}`]), "; with Shift back. Click a lane to go there."),
  );
  for (const drawn of [whole, near]) {
    life.on(drawn, "click", (event) => {
      const at = eventAt(state.ranges.get(drawn), state.width, event.offsetX);
      set(model, "step", at);
      const request = run.data.request[at];
      if (request >= 0) set(model, "selected", request);
    });
    life.on(drawn, "keydown", (event) => {
      const unit = UNITS.find(([, key]) => key === event.key.toLowerCase());
      if (unit && !event.ctrlKey && !event.metaKey) halt(unit[0], event.shiftKey ? -1 : 1);
      else if (event.key === "Escape") set(model, "selected", null);
      else {
        steps.keyed(event);
        return;
      }
      event.preventDefault();
    });
  }
  life.onChange("step", () => { set(model, "event", model.get("step")); tell(); again(); });
  life.onChange("event", () => set(model, "step", model.get("event")));
  life.onChange("selected", () => { tell(); again(); });
  life.onChange("fork_lines", forked);
  const watcher = new ResizeObserver(life.safe(() => {
    state.width = Math.max(360, root.clientWidth - 4);
    theme.forget();
    again();
  }));
  watcher.observe(root);
  life.ends.push(() => watcher.disconnect());
  state.width = Math.max(360, root.clientWidth - 4 || 900);
  tell();
  forked();
  paint();
}

function caption(words) {
  return element("p", { class: "nl-hint", style: "margin:2px 0 0" }, words);
}

// ── what stands at an event ─────────────────────────────────────────────────────────────────────

function happened({ facts, data }, step, selected) {
  const { waiting, running, ended } = thereAt(data, step);
  const name = (i) => `request ${data.req_id[i]}`;
  const at = (i) => `${name(i)} in lane ${data.req_lane[i]} at ${said(frontierOf(data, i, step))} tokens (${said(data.req_reuse[i])} reused)`;
  const uses = usesAt(data, facts.axes.length, step).map(({ axis, allocated, reserved, capacity }) => {
    const word = (value) => (axis === facts.host_bytes_axis ? saidBytes(value) : said(value));
    return `${facts.axes[axis].replace(" bytes", "")} ${word(allocated)}${reserved ? ` + ${word(reserved)} promised` : ""} of ${word(capacity)}`;
  });
  const lines = [
    ["happened", facts.words[data.said[step]]],
    ["runs", running.map(at).join("; ") || "nobody"],
    ["waits", waiting.map(name).join(", ") || "nobody"],
    ["ended", String(ended)],
    ["in use", uses.join("; ") || "not told yet"],
  ];
  if (selected !== null) lines.push(["chosen", `request ${selected}`]);
  const staged = Array.prototype.indexOf.call(data.stops_stage, step);
  return [linesOf(lines), ...(staged < 0 ? [] : [stagesOf(facts, data, facts.plan[staged], facts.stage[staged])])];
}

function linesOf(lines) {
  return element("table", {}, ...lines.map(([name, words]) => element("tr", {}, element("th", {}, name), element("td", {}, words))));
}

function legend(facts) {
  const entry = (colour, words) => element("span", {}, element("i", { style: `background:${colour}` }), words);
  return element(
    "div",
    { class: "nl-legend" },
    entry(facts.prefill_colour, "prefill"),
    entry(facts.decode_colour, "decode"),
    ...Object.entries(facts.mark_colours).map(([words, colour]) => entry(colour, words)),
    entry(facts.running_colour, "here"),
  );
}

/** Offered where there is a world to run again. */
function forkBar(life, facts, model) {
  if (!facts.changes.length) return [];
  const choice = focusable(
    element("select", { class: "nl-button" }, ...facts.changes.map((words) => element("option", { value: words }, words))),
    "what is otherwise from here on",
  );
  choice.value = facts.changes[Math.min(1, facts.changes.length - 1)];
  const go = button("Fork here", "runs the world again in the kernel, otherwise from this event on", () => {
    set(model, "fork_asked", { event: model.get("step"), change: choice.value, count: (model.get("fork_asked")?.count ?? 0) + 1 });
  });
  const show = () => {
    const isBusy = Boolean(model.get("fork_asked")?.change);
    go.disabled = isBusy;
    go.textContent = isBusy ? "running again …" : "Fork here";
  };
  life.onChange("fork_asked", show);
  show();
  return [element("div", { class: "nl-bar", role: "group", "aria-label": "fork here" }, go, choice)];
}

export default { render: rendering("nl-stepper", "stepper", build) };
