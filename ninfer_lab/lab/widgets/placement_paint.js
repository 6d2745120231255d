// How are places painted, and after a step only those that are not as they were?

import { said, saidBytes } from "./view_controls.js";
import { hatched, inkOn, sized } from "./view_paint.js";
import { SLOT, TITLE, promisedCells, runsOf } from "./placement_frames.js";

/** Paints the places of a run on one canvas, and remembers what it painted there. */
export class PlacesPainter {
  constructor(canvas, facts, data) {
    Object.assign(this, { canvas, facts, data, inks: new Map(), painted: null });
  }

  /** Paints a step; whole where page, places or screen are others than they were. */
  paint(page, laid, width, marks, step) {
    const ratio = window.devicePixelRatio || 1;
    const before = this.painted;
    const stands = before && before.page === page && before.laid === laid && before.ratio === ratio;
    const now = { page, laid, ratio, shows: this.showsOf(laid, marks, step), titles: laid.placed.map((each) => this.titleOf(each.panel, step)) };
    if (!stands) {
      this.pen = sized(this.canvas, width, laid.height);
      this.lines = hatched(this.pen, page.quiet);
    }
    laid.placed.forEach((each, i) => {
      if (!stands || before.titles[i] !== now.titles[i]) this.paintTitle(page, each, width, now.titles[i]);
      const isNew = (place) => !stands || before.shows[each.panel.first + place] !== now.shows[each.panel.first + place];
      if (each.kind === "granule") this.paintArena(page, each, marks, width, isNew);
      else this.paintPlaces(page, each, marks, now, isNew);
    });
    this.painted = now;
  }

  /** What is seen of every place: its mark, and whether something is promised there. */
  showsOf(laid, marks, step) {
    const shows = Int32Array.from(marks, (mark) => 2 * mark);
    for (const { panel, kind } of laid.placed) {
      if (kind === "granule") continue;
      let held = 0;
      for (let place = 0; place < panel.count; place += 1) held += this.facts.marks[marks[panel.first + place]][2] ? 1 : 0;
      for (const cell of promisedCells(marks, panel, this.usesOf(panel, step)[1] - held)) shows[cell] += 1;
    }
    return shows;
  }

  /** Allocated, reserved and capacity of a panel's axis. */
  usesOf(panel, step) {
    const at = (step * this.facts.axes.length + panel.axis) * 3;
    return this.data.uses.subarray(at, at + 3);
  }

  titleOf(panel, step) {
    const [allocated, reserved, capacity] = this.usesOf(panel, step);
    const word = panel.axis === this.facts.host_bytes_axis ? saidBytes : said;
    const promised = reserved ? `, ${word(reserved)} more promised or held` : "";
    return `${panel.title}: ${word(allocated)} of ${word(capacity)} in use${promised}`;
  }

  paintTitle(page, { top }, width, words) {
    const { pen } = this;
    pen.clearRect(0, top - TITLE, width, TITLE);
    pen.font = `12px ${page.font}`;
    pen.fillStyle = page.ink;
    pen.textAlign = "left";
    pen.fillText(words, 0, top - 6);
  }

  /** Bytes to scale: neighbours with one mark are one run, so that a change is the whole line's. */
  paintArena(page, { panel, top, wide, tall }, marks, width, isNew) {
    let isAny = false;
    for (let place = 0; place < panel.count && !isAny; place += 1) isAny = isNew(place);
    if (!isAny) return;
    this.pen.clearRect(0, top, width, tall);
    for (const [start, end, mark] of runsOf(marks, panel.first, panel.count)) {
      this.paintPlace(page, mark, start * wide, top, (end - start) * wide, tall - 4);
    }
  }

  paintPlaces(page, { panel, kind, top, columns: perLine, wide, tall }, marks, { ratio, shows }, isNew) {
    const { pen } = this;
    const isWordy = kind === "slot" && wide > SLOT.width;
    const gap = isWordy ? SLOT.gap : wide > 8 ? 2 : 1;
    // On whole pixels of the screen, whatever its zoom: a place that is painted again leaves no rim.
    const snapped = (at) => Math.round(at * ratio) / ratio;
    for (let place = 0; place < panel.count; place += 1) {
      if (!isNew(place)) continue;
      const cell = panel.first + place;
      const x = snapped((place % perLine) * wide);
      const y = snapped(top + Math.floor(place / perLine) * tall);
      const width = snapped((place % perLine) * wide + wide - gap) - x;
      const height = snapped(top + Math.floor(place / perLine) * tall + tall - gap) - y;
      pen.clearRect(x, y, width, height);
      this.paintPlace(page, marks[cell], x, y, width, height);
      if (isWordy) this.paintSlotWords(page, marks[cell], place, x, y);
      if (shows[cell] % 2) {
        pen.fillStyle = this.lines;
        pen.fillRect(x, y, width, height);
      }
    }
  }

  paintPlace(page, mark, x, y, width, height) {
    const { pen, facts } = this;
    const [holders, , isHeld, isPinned] = facts.marks[mark];
    if (!holders.length) {
      pen.fillStyle = page.free;
      pen.fillRect(x, y, width, height);
    }
    const stripe = height / holders.length;
    for (let i = 0; i < holders.length; i += 1) {
      pen.fillStyle = facts.holders[holders[i]][1];
      pen.fillRect(x, y + i * stripe, width, stripe);
    }
    if (isHeld) {
      pen.fillStyle = this.lines;
      pen.fillRect(x, y, width, height);
    }
    if (isPinned) {
      pen.strokeStyle = page.accent;
      pen.lineWidth = 3;
      pen.strokeRect(x + 1.5, y + 1.5, width - 3, height - 3);
    }
  }

  paintSlotWords(page, mark, place, x, y) {
    const { pen, facts, inks } = this;
    const [holders, words, isHeld] = facts.marks[mark];
    const colour = holders.length ? facts.holders[holders[0]][1] : null;
    if (colour && !inks.has(colour)) inks.set(colour, inkOn(colour));
    pen.fillStyle = colour && holders.length === 1 ? inks.get(colour) : page.ink;
    if (holders.length > 1) pen.fillStyle = "#1a1a1a";
    pen.font = `11px ${page.font}`;
    pen.textAlign = "center";
    const who = holders.map((holder) => facts.holders[holder][0].replace("running in ", ""));
    const [first, second] = isHeld ? ["held", ""] : holders.length ? [who.join(", "), words] : [`${place}: free`, ""];
    pen.fillText(first, x + SLOT.width / 2, y + (second ? 16 : 24), SLOT.width - 8);
    if (second) pen.fillText(second, x + SLOT.width / 2, y + 31, SLOT.width - 8);
  }
}

/** Use over the run: Device pages filled, Device slots as a line. Nothing of it depends on a step. */
export function paintStrip(strip, page, facts, data, width, tall) {
  const pen = sized(strip, width, tall);
  const count = data.event.length;
  const axesCount = facts.axes.length;
  const share = (moment, axis, withReserved) => {
    const at = (moment * axesCount + axis) * 3;
    return (data.uses[at] + (withReserved ? data.uses[at + 1] : 0)) / (data.uses[at + 2] || 1);
  };
  const pages = facts.panels.find((panel) => panel.noun === "page")?.axis ?? 0;
  const slots = facts.panels[0].axis;
  pen.fillStyle = page.free;
  pen.fillRect(0, 0, width, tall);
  for (let x = 0; x < width; x += 1) {
    const moment = Math.min(count - 1, Math.floor((x / width) * count));
    for (const [withReserved, colour] of [[true, facts.reserved_colour], [false, facts.allocated_colour]]) {
      const filled = share(moment, pages, withReserved) * tall;
      pen.fillStyle = colour;
      pen.fillRect(x, tall - filled, 1, filled);
    }
    pen.fillStyle = page.ink;
    pen.fillRect(x, tall - share(moment, slots, true) * (tall - 2), 1, 1.5);
  }
}
