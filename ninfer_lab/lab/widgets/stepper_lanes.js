// Lanes over events, with the place one stands at.

import { placeOf } from "./view_controls.js";
import { sized } from "./view_paint.js";

export const ROW = 20;
const LEFT = 62;
const MARKS = 18;

/** Height that a run's lanes take. */
export function lanesHeight(facts) {
  return MARKS + ROW * facts.lanes_count + 4;
}

/** The event under a place of the canvas. */
export function eventAt(range, width, x) {
  const [first, end] = range;
  return Math.max(first, Math.min(end - 1, Math.floor(first + ((x - LEFT) / (width - LEFT)) * (end - first))));
}

/** The middle of an event on the canvas; null where it is not shown. */
export function eventMiddle([first, end], width, event) {
  if (event < first || event >= end) return null;
  return LEFT + ((event - first + 0.5) * (width - LEFT)) / Math.max(1, end - first);
}

/** Draws events [first, end) of a run; the one stood at where `step` says it. */
export function drawLanes(canvas, page, { facts, data, look }, range, { width, step, difference, selected }) {
  const height = lanesHeight(facts);
  const pen = sized(canvas, width, height);
  const [first, end] = range;
  const wide = (width - LEFT) / Math.max(1, end - first);
  const x = (event) => LEFT + (event - first) * wide;
  pen.fillStyle = page.paper;
  pen.fillRect(0, 0, width, height);
  pen.font = `11px ${page.font}`;
  pen.fillStyle = page.quiet;
  pen.textAlign = "left";
  pen.fillText("requests", 2, 13);
  for (let lane = 0; lane < facts.lanes_count; lane += 1) {
    const y = MARKS + lane * ROW;
    pen.fillStyle = page.free;
    pen.fillRect(LEFT, y + 2, width - LEFT, ROW - 4);
    pen.fillStyle = page.quiet;
    pen.fillText(`lane ${lane}`, 2, y + 14);
  }
  for (let row = startOf(data.run_event, first); row < data.run_event.length; row += 1) {
    const event = data.run_event[row];
    if (event >= end) break;
    const isChosen = selected === null || selected === data.run_request[row];
    pen.globalAlpha = isChosen ? 1 : 0.35;
    pen.fillStyle = data.run_decodes[row] ? look.decode_colour : look.prefill_colour;
    // A ledger's change stands before what it belongs to: a forward is as wide as both.
    const from = event > 0 && data.kind[event - 1] === 0 ? event - 1 : event;
    pen.fillRect(x(from), MARKS + data.run_lane[row] * ROW + 3, Math.max(1, (event + 1 - from) * wide), ROW - 6);
  }
  pen.globalAlpha = 1;
  for (let event = first; event < end; event += 1) {
    const colour = look.mark_colours[facts.kinds[data.kind[event]]];
    if (!colour) continue;
    pen.fillStyle = colour;
    pen.fillRect(x(event) + wide / 2 - 1, 3, Math.max(2, Math.min(4, wide)), MARKS - 6);
  }
  numbers(pen, page, data, range, x);
  if (difference !== null && difference !== undefined && difference >= first && difference < end) {
    pen.strokeStyle = page.ink;
    pen.lineWidth = 1.5;
    pen.setLineDash([4, 3]);
    upright(pen, x(difference), height);
    pen.setLineDash([]);
  }
  const here = step === null ? null : eventMiddle(range, width, step);
  if (here === null) return;
  pen.strokeStyle = look.running_colour;
  pen.lineWidth = 2;
  upright(pen, here, height);
}

/** Each request's number where it was admitted, as long as numbers do not meet. */
function numbers(pen, page, data, [first, end], x) {
  pen.font = `bold 10px ${page.font}`;
  pen.textAlign = "left";
  const last = new Map();
  for (let i = 0; i < data.req_id.length; i += 1) {
    const event = data.req_admitted[i];
    if (event < first || event >= end) continue;
    const lane = data.req_lane[i];
    const place = x(event) + 2;
    if (place - (last.get(lane) ?? -99) < 18) continue;
    last.set(lane, place);
    pen.strokeStyle = page.paper;
    pen.lineWidth = 3;
    pen.strokeText(String(data.req_id[i]), place, MARKS + lane * ROW + 14);
    pen.fillStyle = page.ink;
    pen.fillText(String(data.req_id[i]), place, MARKS + lane * ROW + 14);
  }
}

function upright(pen, x, height) {
  pen.beginPath();
  pen.moveTo(x, 0);
  pen.lineTo(x, height);
  pen.stroke();
}

/** The first item that is not below `value`. */
function startOf(ascending, value) {
  if (!ascending.length) return 0;
  let place = placeOf(ascending, value);
  while (place > 0 && ascending[place - 1] >= value) place -= 1;
  return ascending[place] < value ? place + 1 : place;
}
