// Where does a step lead, and who is there? Worked out from columns, without a page.

import { placeOf } from "./view_controls.js";

/** The next halt of an ascending list after `step`, or before it; `step` where there is none. */
export function haltFrom(stops, step, by) {
  if (!stops.length) return step;
  const place = placeOf(stops, step);
  if (by > 0) {
    const next = stops[place] > step ? place : place + 1;
    return next < stops.length ? stops[next] : step;
  }
  if (stops[place] < step) return stops[place];
  return place > 0 && stops[place - 1] < step ? stops[place - 1] : step;
}

/** Requests that wait and run once event `step` has happened, in the order in which they came. */
export function thereAt(data, step) {
  const waiting = [];
  const running = [];
  let ended = 0;
  for (let i = 0; i < data.req_id.length; i += 1) {
    if (data.req_came[i] > step) break;
    const end = data.req_ended[i];
    const admitted = data.req_admitted[i];
    if (end >= 0 && end <= step) ended += 1;
    else if (admitted >= 0 && admitted <= step) running.push(i);
    else waiting.push(i);
  }
  return { waiting, running, ended };
}

/** How far a running request had come: the end of its last row, else what it reused. */
export function frontierOf(data, request, step) {
  for (let row = placeOf(data.run_event, step); row >= 0; row -= 1) {
    const isHere = data.run_event[row] <= step && data.run_request[row] === data.req_id[request];
    if (isHere) return data.run_end[row];
    if (data.run_event[row] < data.req_admitted[request]) break;
  }
  return data.req_reuse[request];
}

/** What was in use of every axis that there is: [{axis, allocated, reserved, capacity}]. */
export function usesAt(data, axesCount, step) {
  if (!data.use_event.length || data.use_event[0] > step) return [];
  const place = placeOf(data.use_event, step);
  const found = [];
  for (let axis = 0; axis < axesCount; axis += 1) {
    const at = (place * axesCount + axis) * 3;
    const [allocated, reserved, capacity] = data.uses.subarray(at, at + 3);
    if (capacity) found.push({ axis, allocated, reserved, capacity });
  }
  return found;
}

/** First and one past the last event of a window about a step. */
export function windowAbout(step, count, width) {
  if (count <= width) return [0, count];
  const first = Math.max(0, Math.min(count - width, step - Math.floor(width / 2)));
  return [first, first + width];
}
