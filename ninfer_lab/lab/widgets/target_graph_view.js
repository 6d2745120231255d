// The targets of one decision, from identities downward.

import { columns } from "./view_columns.js";
import { button, element, focusable, rendering, saidTime, set, stepBar } from "./view_controls.js";
import { themed } from "./view_paint.js";
import { INFEASIBLE, graphOf, hiddenBelow, links, neighbour, nextOfVerdict, pillAt, places, shades, targetAt, visible } from "./target_graph_layout.js";
import { ChosenMark, GraphPainter } from "./target_graph_paint.js";
import { toldOf } from "./target_graph_told.js";

function build(life) {
  const { model, root } = life;
  const facts = model.get("facts");
  const data = columns(model.get("columns"), model.get("columns_at"));
  const graph = graphOf(data, facts);
  const view = {
    facts,
    graph,
    shade: shades(graph),
    open: new Set(),
    sought: new Set(),
    all: false,
    pills: [],
    number: new Map(facts.incumbents.map((target, i) => [target, i + 1])),
  };
  const canvas = focusable(
    element("canvas", { role: "application" }),
    `${graph.count} targets of ${facts.name}. Arrow keys move between them, Enter opens what is below, n goes to the next that does not fit; what is chosen is read out beside.`,
  );
  const mark = new ChosenMark();
  const drawn = element("div", { class: "nl-drawn" }, canvas, mark.node);
  const painter = new GraphPainter(canvas, view);
  const told = element("div", { class: "nl-told", role: "region", "aria-live": "polite", "aria-label": "the chosen target" });
  const steps = stepBar(life, {
    label: "looks of the search",
    words: (step) => `after ${step} of ${model.get("steps_count") - 1} looks${best(view, step)}`,
  });

  const again = () => life.paintSoon(paint);
  const theme = themed(life, root, again);
  const paint = () => {
    painter.paint(theme.page(), model.get("step"), model.get("selected"));
    mark.show(view, model.get("selected"));
    if (view.isSought) inSight();
    view.isSought = false;
  };
  const relaid = () => {
    const width = Math.max(420, drawn.clientWidth || root.clientWidth * 0.6 || 620);
    theme.forget();
    // What is read beside the graph stands on it, whatever is opened and closed.
    const chosen = model.get("selected");
    view.shown = visible(graph, { ...view, sought: chosen === null ? view.sought : [...view.sought, chosen] });
    view.placed = places(graph, view.shown, width, facts.candidates.length);
    view.links = links(graph, view.shown);
    again();
  };
  const tell = () => {
    const target = model.get("selected");
    const hadFocus = told.contains(document.activeElement);
    told.replaceChildren(
      target === null
        ? element("p", { class: "nl-said" }, "Choose a target to read what it comes to.")
        : toldOf(graph, data, facts, target, opener(target)),
    );
    if (hadFocus) (told.querySelector("button") ?? canvas).focus();
  };
  /** The pill of a target in words: for the keyboard, and where a crowd leaves no room for pills. */
  const opener = (target) => {
    const hidden = hiddenBelow(graph, view.shown, target);
    if (!hidden && !view.open.has(target)) return "";
    const words = view.open.has(target) ? "− Hide what is below" : `+${hidden} Open what is hidden below`;
    return button(words, "Enter does the same on the graph", () => toggle(target));
  };
  const choose = (target) => set(model, "selected", target);
  const inSight = () => {
    const target = model.get("selected");
    if (target === null) return;
    const y = view.placed.y[target];
    const [top, tall] = [drawn.scrollTop, drawn.clientHeight];
    if (y < top + 20 || y > top + tall - 20) drawn.scrollTop = y - tall / 2;
  };
  const toggle = (target) => {
    if (target === null) return;
    if (!view.open.delete(target)) view.open.add(target);
    relaid();
    tell();
  };
  const showAll = (isAll) => {
    view.all = isAll;
    if (!isAll) {
      view.open.clear();
      view.sought.clear();
    }
    relaid();
    tell();
  };
  const next = (verdict) => choose(nextOfVerdict(graph, verdict, model.get("selected")));

  root.append(
    element("p", { class: "nl-title" }, `Targets of ${facts.name}`),
    element("p", { class: "nl-said" }, headline(view)),
    element(
      "div",
      { class: "nl-bar" },
      button("The path of the best", "identities and whatever was the best so far", () => showAll(false)),
      button(`All ${graph.count.toLocaleString("en-US")}`, "every target at once (a)", () => showAll(true)),
      button("Next that does not fit", "in the order of looks (n)", () => next(INFEASIBLE)),
    ),
    legend(view),
    steps.bar,
    element("div", { class: "nl-body" }, drawn, told),
    element("p", { class: "nl-hint" }, "Click a target to read it; click +n to open what is hidden below. Keys: arrows, ", ...kbd("Enter"), " open, ", ...kbd("n"), " next that does not fit, ", ...kbd("a"), " all, ", ...kbd("Home"), " and ", ...kbd("End"), " along the path of the best."),
  );
  life.on(canvas, "click", (event) => {
    const pill = pillAt(view.pills, event.offsetX, event.offsetY);
    if (pill) toggle(pill.target);
    else choose(targetAt(view.placed, view.shown, event.offsetX, event.offsetY));
  });
  life.on(canvas, "mousemove", (event) => {
    const pill = pillAt(view.pills, event.offsetX, event.offsetY);
    const target = pill ? null : targetAt(view.placed, view.shown, event.offsetX, event.offsetY);
    canvas.style.cursor = pill || target !== null ? "pointer" : "default";
    canvas.title = pill ? pillWords(view, pill) : target === null ? "" : hover(view, target);
  });
  life.on(canvas, "keydown", (event) => {
    const target = model.get("selected");
    const path = facts.incumbents;
    if (event.key.startsWith("Arrow")) choose(target === null ? path[0] ?? 0 : neighbour(view.placed, view.shown, target, event.key));
    else if (event.key === "Enter" || event.key === "+") toggle(target);
    else if (event.key === "n") next(INFEASIBLE);
    else if (event.key === "a") showAll(!view.all);
    else if (event.key === "Home" && path.length) choose(path[0]);
    else if (event.key === "End" && path.length) choose(path[path.length - 1]);
    else if (event.key === "Escape") choose(null);
    else return;
    event.preventDefault();
  });
  life.onChange("step", again);
  life.onChange("selected", () => {
    const target = model.get("selected");
    if (target !== null && !view.shown[target]) {
      view.sought.add(target);
      relaid();
      view.isSought = true; // the graph is as tall as it will be only once it is painted
    } else inSight(); // reads where it stands before anything is written
    tell();
    again();
  });
  const watcher = new ResizeObserver(life.safe(relaid));
  watcher.observe(drawn);
  life.ends.push(() => watcher.disconnect());
  canvas.pillOf = (target) => view.pills.find((pill) => pill.target === target);
  canvas.placeOf = (target) => [view.placed.x[target], view.placed.y[target]];
  relaid();
  tell();
  paint();
}

function kbd(...keys) {
  return keys.map((key) => element("kbd", {}, key));
}

function headline({ facts, graph }) {
  const parts = facts.verdicts.filter((each) => each.count).map((each) => `${each.words}: ${each.count.toLocaleString("en-US")}`);
  const untold = facts.untold_count ? ` ${facts.untold_count.toLocaleString("en-US")} more were seen and not recorded.` : "";
  return `${graph.count.toLocaleString("en-US")} complete end states. ${parts.join("; ").replace(/^./, (first) => first.toUpperCase())}.${untold}`;
}

function best({ facts, graph }, step) {
  const found = facts.incumbents.filter((target) => graph.look[target] <= step);
  if (!found.length) return ": nothing that fits yet";
  return `: the best has J ${saidTime(graph.total[found[found.length - 1]])}`;
}

function hover({ facts, graph, placed }, target) {
  const look = graph.look[target] ? `, look ${graph.look[target]}` : "";
  const cost = graph.total[target] > 0 ? `, J ${saidTime(graph.total[target])}` : "";
  return `target ${target}: ${facts.verdicts[graph.verdict[target]].words}${look}${cost}`;
}

function pillWords({ open }, { target, hidden }) {
  return open.has(target) ? `hide what is below target ${target}` : `open the ${hidden} hidden below target ${target}`;
}

// ── the legend ──────────────────────────────────────────────────────────────────────────────────

const SHAPES = [
  (colour) => `background:${colour};border-radius:50%`,
  (colour) => `background:${colour};transform:rotate(45deg) scale(.8)`,
  (colour) => `background:${colour}`,
  (colour) => `border:1.5px solid ${colour};border-radius:50%`,
];

function legend({ facts, shade }) {
  const entry = (style, words, content = "") => element("span", {}, element("i", { style }, content), words);
  const row = element("div", { class: "nl-legend" });
  facts.verdicts.forEach((verdict, i) => {
    if (verdict.count) row.append(entry(SHAPES[i](verdict.colour), verdict.words));
  });
  if (Number.isFinite(shade.low)) {
    const ramp = `width:54px;height:9px;background:linear-gradient(90deg, ${facts.verdicts[0].colour}, var(--nl-paper));border:1px solid var(--nl-line)`;
    row.append(entry(ramp, `J from ${saidTime(shade.low)} to ${saidTime(shade.high)}: the fuller the colour, the cheaper`));
  }
  const number = "border:1.5px solid var(--nl-ink);border-radius:50%;font:9px/10px sans-serif;text-align:center;font-style:normal";
  row.append(entry(number, "the best so far, in the order of finding", "1"));
  if (facts.incumbents.length) row.append(entry(`border:2.5px solid ${facts.running_colour};border-radius:50%`, "taken"));
  row.append(entry("border-top:1.5px dashed var(--nl-quiet);height:0", `several ${facts.level}s, those between hidden`));
  return row;
}

export default { render: rendering("nl-target-graph", "target graph", build) };
