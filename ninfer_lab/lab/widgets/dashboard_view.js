// Hit rate, time to the first token, use and misses by cause, request by request.

import { columns } from "./view_columns.js";
import { changed, clamp, element, focusable, placeOf, rendering, said, saidTime, set, stepBar } from "./view_controls.js";
import { marked, sized, themed } from "./view_paint.js";

const LEFT = 78;
const GAP = 14;
const PANELS = { tokens: 150, hit: 60, ttft: 80, use: 80 };
const TOP = 4;
const PANELS_HEIGHT = Object.values(PANELS).reduce((sum, each) => sum + each + GAP, TOP - GAP);
const HEIGHT = PANELS_HEIGHT + 20;
const NUMBER_ROOM = 34;

function build(life) {
  const { model, root } = life;
  const facts = model.get("facts");
  const data = columns(model.get("columns"), model.get("columns_at"));
  const count = model.get("steps_count");
  const board = { facts, data, count, width: 900, scale: scalesOf(facts, data, count) };
  const canvas = focusable(
    element("canvas", { role: "img", style: "display:block;cursor:pointer" }),
    `${count} requests of ${facts.name}; left and right arrows step through them, and what each came to is read out below`,
  );
  const told = element("p", { "aria-live": "polite", style: "min-height:2.9em;margin:2px 0" });
  const steps = stepBar(life, {
    label: "requests, in the order of their ends",
    words: (step) => `request ${data.id[step]}, ${said(step + 1)} of ${said(count)}`,
  });
  // In ink: the colours of the bars say why tokens were computed.
  const here = marked(canvas, "var(--nl-ink)");
  const theme = themed(life, root, () => again());
  const drawOnce = changed((page, width) => draw({ ...board, width }, canvas, page));
  const paint = () => {
    here.to(LEFT + ((model.get("step") + 0.5) * (board.width - LEFT)) / count, PANELS_HEIGHT);
    drawOnce(theme.page(), board.width);
  };
  const again = () => life.paintSoon(paint);
  const tell = () => told.replaceChildren(facts.words[model.get("step")]);
  root.append(
    element("p", { class: "nl-title" }, `How it went: ${facts.name}`),
    steps.bar,
    legend(facts, data),
    element("div", { class: "nl-drawn", style: "max-height:none" }, here.box),
    told,
    element("p", { class: "nl-hint" }, "Click a request, or step with the arrow keys."),
  );
  life.on(canvas, "click", (event) => {
    const place = Math.floor(((event.offsetX - LEFT) / (board.width - LEFT)) * count);
    set(model, "step", clamp(place, 0, count - 1));
  });
  life.on(canvas, "keydown", steps.keyed);
  life.onChange("step", () => {
    const step = model.get("step");
    // Another view's event between two ends stays as it is: this one stands at the end before.
    if (placeOf(data.event, model.get("event")) !== step) set(model, "event", data.event[step]);
    set(model, "selected", data.id[step]);
    tell();
    again();
  });
  life.onChange("event", () => set(model, "step", placeOf(data.event, model.get("event"))));
  life.onChange("selected", () => {
    const step = data.id.indexOf(model.get("selected"));
    if (step >= 0) set(model, "step", step);
  });
  const watcher = new ResizeObserver(life.safe(() => {
    board.width = Math.max(360, root.clientWidth - 4);
    theme.forget();
    again();
  }));
  watcher.observe(root);
  life.ends.push(() => watcher.disconnect());
  board.width = Math.max(360, root.clientWidth - 4 || 900);
  tell();
  paint();
}

function scalesOf(facts, data, count) {
  const groups = facts.groups.length;
  let most = 1;
  for (let i = 0; i < count; i += 1) {
    let tokens = data.reused[i];
    for (let g = 0; g < groups; g += 1) tokens += data.computed[i * groups + g];
    most = Math.max(most, tokens);
  }
  const times = Array.from(data.ttft_ms).filter((ms) => ms > 0);
  const low = Math.log10(times.length ? times.reduce((a, b) => Math.min(a, b)) : 1);
  const high = Math.log10(times.length ? times.reduce((a, b) => Math.max(a, b)) : 10);
  return { most, low: low - 0.1, high: Math.max(high, low + 0.3) + 0.1 };
}

/** Nothing of it depends on where one stands. */
function draw({ facts, data, count, width, scale }, canvas, page) {
  const pen = sized(canvas, width, HEIGHT);
  pen.fillStyle = page.paper;
  pen.fillRect(0, 0, width, HEIGHT);
  const wide = (width - LEFT) / count;
  const x = (i) => LEFT + (i + 0.5) * wide;
  const bar = Math.max(1, wide * 0.86);
  let top = TOP;
  const panel = (tall, name, least, most) => {
    pen.strokeStyle = page.line;
    pen.lineWidth = 1;
    pen.strokeRect(LEFT, top, width - LEFT - 1, tall);
    pen.fillStyle = page.quiet;
    pen.font = `11px ${page.font}`;
    pen.textAlign = "right";
    pen.fillText(most, LEFT - 5, top + 10);
    pen.fillText(least, LEFT - 5, top + tall);
    pen.fillStyle = page.ink;
    pen.fillText(name, LEFT - 5, top + tall / 2 + 4);
    return top + tall;
  };
  const groups = facts.groups.length;
  let floor = panel(PANELS.tokens, "tokens", "0", said(scale.most));
  for (let i = 0; i < count; i += 1) {
    let y = floor;
    const part = (tokens, colour) => {
      const tall = (tokens / scale.most) * PANELS.tokens;
      pen.fillStyle = colour;
      pen.fillRect(x(i) - bar / 2, y - tall, bar, tall);
      y -= tall;
    };
    part(data.reused[i], facts.reused_colour);
    for (let g = 0; g < groups; g += 1) part(data.computed[i * groups + g], facts.groups[g].colour);
  }
  top = floor + GAP;
  floor = panel(PANELS.hit, "hit rate", "0 %", "100 %");
  line(pen, facts.reused_colour, count, x, (i) => floor - data.hit[i] * PANELS.hit);
  top = floor + GAP;
  floor = panel(PANELS.ttft, "first token", saidTime(10 ** scale.low * 1e6), saidTime(10 ** scale.high * 1e6));
  pen.fillStyle = page.ink;
  for (let i = 0; i < count; i += 1) {
    if (!(data.ttft_ms[i] > 0)) continue;
    const share = (Math.log10(data.ttft_ms[i]) - scale.low) / (scale.high - scale.low);
    pen.beginPath();
    pen.arc(x(i), floor - share * PANELS.ttft, 2.4, 0, 7);
    pen.fill();
  }
  top = floor + GAP;
  floor = panel(PANELS.use, "highest use", "0 %", "100 %");
  for (const axis of facts.axes) {
    line(pen, axis.colour, count, x, (i) => floor - data.use[i * facts.axes_count + axis.place] * PANELS.use);
  }
  numbered(pen, page, data, count, x, floor + 14);
}

/** Which request stands where: its number below, as long as numbers do not meet. */
function numbered(pen, page, data, count, x, y) {
  pen.fillStyle = page.ink;
  pen.textAlign = "right";
  pen.fillText("request", LEFT - 5, y);
  pen.fillStyle = page.quiet;
  pen.textAlign = "center";
  const every = Math.max(1, Math.ceil(NUMBER_ROOM / (x(1) - x(0))));
  for (let i = 0; i < count; i += every) pen.fillText(String(data.id[i]), x(i), y);
}

function line(pen, colour, count, x, y) {
  pen.strokeStyle = colour;
  pen.lineWidth = 1.6;
  pen.beginPath();
  for (let i = 0; i < count; i += 1) pen.lineTo(x(i), y(i));
  pen.stroke();
}

function legend(facts, data) {
  const entry = (colour, words) => element("span", {}, element("i", { style: `background:${colour}` }), words);
  const groups = facts.groups.length;
  const isMet = (g) => data.computed.some((tokens, i) => i % groups === g && tokens > 0);
  return element(
    "div",
    { class: "nl-legend" },
    entry(facts.reused_colour, "reused"),
    ...facts.groups.filter((_, g) => isMet(g)).map((group) => entry(group.colour, group.words)),
    ...facts.axes.map((axis) => element("span", {}, element("i", { style: `background:${axis.colour};height:3px` }), `use of ${axis.words}`)),
  );
}

export default { render: rendering("nl-dashboard", "dashboard", build) };
