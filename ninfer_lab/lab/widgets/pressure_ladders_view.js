// What each owner gives up, rung by rung, and the recency ladder with its licence.

import { element, focusable, rendering, saidTime, set, stepBar } from "./view_controls.js";
import { freedWords } from "./pressure_ladders_words.js";

function build(life) {
  const { model, root } = life;
  const facts = model.get("facts");
  const count = model.get("steps_count");
  const rows = element("div", { class: "nl-ladders" });
  const told = element("div", { class: "nl-told", role: "region", "aria-live": "polite", "aria-label": "the chosen owner", style: "max-height:none" });
  const head = element("p", { class: "nl-said", "aria-live": "polite" });
  const steps = stepBar(life, {
    label: "the best so far, in the order of finding",
    words: (step) => `best so far, ${step + 1} of ${count}${step === count - 1 ? " · taken" : ""}: J ${saidTime(facts.found[step].total_ns)}`,
  });
  const show = () => {
    const found = facts.found[model.get("step")];
    const { alone_pages: alone, freed_pages: freed } = found;
    head.textContent = `This target frees ${freed} Device pages. What each owner would free alone adds up to ${alone}: such numbers do not add.`;
    if (alone === freed) head.textContent = `This target frees ${freed} Device pages.`;
    showRows(life, rows, found.ladders);
    const chosen = found.ladders.find((ladder) => ladder.owner === model.get("selected"));
    told.replaceChildren(chosen ? tableOf(chosen) : element("p", { class: "nl-hint" }, "Choose an owner to read its rungs as a table."));
  };
  root.append(
    element("p", { class: "nl-title" }, `What is given up: ${facts.name}`),
    legend(facts),
    steps.bar,
    head,
    rows,
    told,
    facts.recency ? recencyOf(facts.recency) : "",
  );
  life.onChange("step", show);
  life.onChange("selected", show);
  show();
}

function legend(facts) {
  const entry = (style, words) => element("span", {}, element("i", { style }), words);
  const kinds = facts.kinds.map(([words, colour]) => entry(`background:${words === "stays" ? "var(--nl-paper)" : colour};border:1px solid var(--nl-line)`, words));
  kinds.push(entry("border:2.5px solid var(--nl-ink);border-radius:3px", "taken"));
  kinds.push(element("span", {}, element("b", {}, "12 → 75"), "freed alone → with the others as decided"));
  return element("div", { class: "nl-legend" }, ...kinds);
}

/** A row that says what it said stays as it is: of a step it is few owners that decide otherwise. */
function showRows(life, rows, ladders) {
  const selected = life.model.get("selected");
  ladders.forEach((ladder, i) => {
    const says = JSON.stringify([ladder, ladder.owner === selected]);
    const old = rows.children[i];
    if (old?.says === says) return;
    const row = rowOf(life, ladder, selected);
    row.says = says;
    if (old) old.replaceWith(row);
    else rows.append(row);
  });
  while (rows.children.length > ladders.length) rows.lastChild.remove();
}

function rowOf(life, ladder, selected) {
  const { model } = life;
  const isChosen = ladder.owner === selected;
  const name = focusable(
    element("button", { type: "button", class: `nl-button nl-owner${isChosen ? " nl-chosen" : ""}` }, `owner ${ladder.owner}`),
    `owner ${ladder.owner}, ${ladder.retention}, weight ${ladder.weight}; ${ladder.rungs[ladder.taken].words}`,
  );
  name.setAttribute("aria-pressed", String(isChosen));
  name.addEventListener("click", life.safe(() => {
    set(model, "selected", isChosen ? null : ladder.owner);
    // The rows are new: the focus goes to the same owner's new button.
    life.root.querySelector(`[data-owner="${ladder.owner}"]`)?.focus();
  }));
  name.dataset.owner = ladder.owner;
  const label = element("div", { class: "nl-who" }, name, element("small", {}, `${ladder.retention} × ${ladder.weight}${ladder.is_source ? ", the source" : ""}`));
  const rungs = ladder.rungs.map((rung, i) => cardOf(rung, i === ladder.taken));
  return element("div", { class: "nl-ladder", role: "list", "aria-label": `ladder of owner ${ladder.owner}` }, label, ...rungs);
}

function cardOf(rung, isTaken) {
  // The taken one is as light on a dark page: its words are dark on both.
  const mix = isTaken ? "78%, white" : "20%, var(--nl-paper)";
  const rim = rung.kind === "stays" ? "var(--nl-line)" : `color-mix(in srgb, ${rung.colour} 55%, var(--nl-paper))`;
  const paper = rung.kind === "stays" && !isTaken ? "var(--nl-paper)" : `color-mix(in srgb, ${rung.colour} ${mix})`;
  const style = `background:${paper};border-color:${isTaken ? "var(--nl-ink)" : rim}`;
  const freed = freedWords(rung.alone, rung.jointly);
  return element(
    "div",
    { class: `nl-rung${isTaken ? " nl-taken" : ""}`, role: "listitem", style, "aria-current": isTaken ? "true" : "false" },
    element("span", { class: isTaken ? "nl-title" : "" }, rung.words),
    ...(rung.kind === "stays" ? [] : [element("small", {}, freed.differs ? element("b", {}, freed.words) : freed.words), element("small", {}, `loses ${saidTime(rung.loss_ns)}`)]),
  );
}

function tableOf(ladder) {
  const row = (tag, cells) => element("tr", {}, ...cells.map((cell, i) => element(tag, { class: i ? "nl-number" : "" }, cell)));
  const head = row("th", ["rung", "pages alone", "pages jointly", "slots alone", "slots jointly", "loses"]);
  const lines = ladder.rungs.map((rung, i) => {
    const words = i === ladder.taken ? element("b", {}, `→ ${rung.words}`) : rung.words;
    return row("td", [words, String(rung.alone[0]), String(rung.jointly[0]), String(rung.alone[1]), String(rung.jointly[1]), saidTime(rung.loss_ns)]);
  });
  return element("div", {}, element("h4", {}, `Owner ${ladder.owner}, ${ladder.retention}: losses count × ${ladder.weight}`), element("table", {}, head, ...lines));
}

// ── the recency ladder ──────────────────────────────────────────────────────────────────────────

function recencyOf(recency) {
  const colours = new Map(recency.fates);
  const entry = ([words, colour]) => element("span", {}, element("i", { style: `background:${colour}` }), words);
  const names = recency.order.map((owner) => {
    const isLicensed = recency.licence.includes(owner);
    return element("th", { class: isLicensed ? "nl-over" : "" }, `owner ${owner}${isLicensed ? " ⚑" : ""}`);
  });
  const rows = recency.rungs.map((rung) => {
    const cells = rung.fates.map((fate) =>
      element("td", { style: `background:color-mix(in srgb, ${colours.get(fate)} ${rung.is_adoptable ? 70 : 22}%, var(--nl-paper));border:2px solid var(--nl-paper);text-align:center`, title: fate }, fate === "evicted" ? "✕" : ""),
    );
    const words = rung.is_adoptable ? `fits, J ${saidTime(rung.cost_ns)}` : rung.verdict;
    return element("tr", { class: rung.is_least ? "nl-least" : "" }, element("th", {}, `${rung.gone_count} gone`), ...cells, element("td", {}, rung.is_least ? element("b", {}, `${words} · the least sacrifice`) : words));
  });
  return element(
    "div",
    {},
    element("h4", {}, "By recency: the oldest on the left goes first"),
    element("div", { class: "nl-legend" }, ...recency.fates.map(entry), element("span", { class: "nl-over" }, "⚑ licensed: may be evicted; nobody else may"), element("span", {}, "pale: cannot be adopted")),
    element("table", { class: "nl-recency", "aria-label": "recency ladder" }, element("tr", {}, element("th", {}), ...names, element("th", {})), ...rows),
  );
}

export default { render: rendering("nl-pressure-ladders", "pressure ladders", build) };
