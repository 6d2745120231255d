// What do all views have in common under the reader's hand?
// Elements, keys, the step bar, and a life that ends: whatever was listened to is let go, and an
// error is shown where it happened.

export function clamp(value, low, high) {
  return Math.max(low, Math.min(high, value));
}

/** The step that a key leads to, or null when the key means nothing here. */
export function stepForKey(key, step, stepsCount) {
  const by = { ArrowRight: 1, ArrowLeft: -1, PageDown: 10, PageUp: -10 }[key];
  if (key === "Home") return 0;
  if (key === "End") return stepsCount - 1;
  return by === undefined ? null : clamp(step + by, 0, stepsCount - 1);
}

/** A number as a person reads it: 12,345. */
export function said(value) {
  return Math.round(value).toLocaleString("en-US");
}

/** Nanoseconds in the unit that suits them. */
export function saidTime(ns) {
  if (ns >= 1e9) return `${(ns / 1e9).toLocaleString("en-US", { maximumFractionDigits: 2 })} s`;
  if (ns >= 1e6) return `${(ns / 1e6).toLocaleString("en-US", { maximumFractionDigits: 1 })} ms`;
  return `${(ns / 1e3).toLocaleString("en-US", { maximumFractionDigits: 1 })} µs`;
}

/** Bytes in the unit that suits them. */
export function saidBytes(bytes) {
  const steps = [[1e9, "GB"], [1e6, "MB"], [1e3, "kB"]];
  for (const [size, unit] of steps) {
    if (bytes >= size) return `${(bytes / size).toLocaleString("en-US", { maximumFractionDigits: 1 })} ${unit}`;
  }
  return `${said(bytes)} bytes`;
}

/** An element with properties and children; text is never read as HTML. */
export function element(tag, properties = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (name === "class") made.className = value;
    else if (name === "style") made.style.cssText = value;
    else if (name in made && name !== "role") made[name] = value;
    else made.setAttribute(name, value);
  }
  made.append(...children.filter((child) => child !== null && child !== undefined));
  return made;
}

/** Something that takes the focus. JupyterLab's own keys (arrows among them) are kept off it: its
 * key handler climbs from the focused element and stops at the first that it knows, so that an
 * attribute on a parent comes too late. */
export function focusable(node, label) {
  node.dataset.lmSuppressShortcuts = "true";
  if (label) node.setAttribute("aria-label", label);
  if (!/^(BUTTON|INPUT|SELECT)$/.test(node.tagName)) node.tabIndex = 0;
  return node;
}

export function button(label, title, onClick) {
  const made = focusable(element("button", { type: "button", class: "nl-button", title }, label));
  if (onClick) made.addEventListener("click", onClick);
  return made;
}

/** What went wrong, in the view itself. */
export function showProblem(root, problem) {
  let place = root.querySelector(":scope > .nl-problem");
  if (!problem) {
    place?.remove();
    return;
  }
  if (!place) {
    place = element("div", { class: "nl-problem", role: "alert" });
    root.append(place);
  }
  const words = problem instanceof Error ? problem.message : String(problem);
  place.textContent = `This view could not go on: ${words}. Run its cell again; what stands in the kernel is untouched.`;
  if (problem instanceof Error) console.error(problem);
}

/** One view from its first paint to its end. */
export class Life {
  constructor(model, root) {
    this.model = model;
    this.root = root;
    this.ends = [];
    this.frame = 0;
  }

  /** The same function, with its errors shown in the view. */
  safe(act) {
    return (...given) => {
      try {
        return act(...given);
      } catch (error) {
        showProblem(this.root, error);
        return undefined;
      }
    };
  }

  on(target, type, act, options) {
    const safe = this.safe(act);
    target.addEventListener(type, safe, options);
    this.ends.push(() => target.removeEventListener(type, safe, options));
  }

  onChange(name, act) {
    const safe = this.safe(act);
    this.model.on(`change:${name}`, safe);
    this.ends.push(() => this.model.off(`change:${name}`, safe));
  }

  /** Paints once before the next frame, however often it is asked. */
  paintSoon(paint) {
    if (!this.frame) {
      this.frame = requestAnimationFrame(() => {
        this.frame = 0;
        this.safe(paint)();
      });
    }
  }

  every(ms, act) {
    const timer = setInterval(this.safe(act), ms);
    const stop = () => clearInterval(timer);
    this.ends.push(stop);
    return stop;
  }

  end() {
    cancelAnimationFrame(this.frame);
    for (const each of this.ends.splice(0)) each();
  }
}

/** anywidget's `render` of a view: `build(life)` fills `life.root`, a broken one says so. */
export function rendering(className, label, build) {
  return ({ model, el }) => {
    const root = element("div", { class: `nl-view ${className}`, role: "region", "aria-label": label });
    el.append(root);
    const life = new Life(model, root);
    const tell = () => showProblem(root, model.get("problem"));
    life.safe(build)(life);
    life.onChange("problem", tell);
    if (model.get("problem")) tell();
    return () => life.end();
  };
}

/** The same act, done only when it is given something else than the last time. */
export function changed(act) {
  let before = null;
  return (...given) => {
    if (before && given.every((each, i) => each === before[i])) return;
    before = given;
    act(...given);
  };
}

export function set(model, name, value) {
  if (model.get(name) !== value) {
    model.set(name, value);
    model.save_changes();
  }
}

const PLAY_MS = 60;
const WORD_EM = 0.52;

/** Slider, ◀ ▶, play, and what the step is called.
 *
 * options: label, stops (ascending steps that the arrows halt at; null is all of them),
 * words(step) -> text. */
export function stepBar(life, { label, stops = null, words }) {
  const { model } = life;
  const steps = stops ?? Array.from({ length: model.get("steps_count") }, (_, i) => i);
  const last = steps.length - 1;
  const at = () => placeOf(steps, model.get("step"));
  const go = (place) => set(model, "step", steps[clamp(place, 0, last)]);
  const slider = focusable(
    element("input", { type: "range", min: 0, max: last, step: 1, class: "nl-slider" }),
    label,
  );
  const text = element("output", { class: "nl-step" });
  let stop = null;
  const play = button("▶ play", "play (space)", () => {
    if (stop) return halt();
    if (at() >= last) go(0);
    play.textContent = "❚❚ pause";
    stop = life.every(PLAY_MS, () => {
      if (at() >= last) halt();
      else go(at() + 1);
    });
    return undefined;
  });
  const halt = () => {
    stop?.();
    stop = null;
    play.textContent = "▶ play";
  };
  const bar = element(
    "div",
    { class: "nl-bar", role: "group", "aria-label": label },
    button("◀", "one step back (←)", () => go(at() - 1)),
    button("▶", "one step on (→)", () => go(at() + 1)),
    play,
    slider,
    text,
  );
  let widest = 0;
  const show = () => {
    slider.value = at();
    const now = words(model.get("step"));
    text.textContent = now;
    // The room that words once took stays theirs: else the slider would change under the hand.
    if (now.length > widest) text.style.minWidth = `${(widest = now.length) * WORD_EM}em`;
    slider.setAttribute("aria-valuetext", now);
  };
  const keyed = (event) => {
    if (event.key === " " && event.target.tagName !== "BUTTON") {
      event.preventDefault();
      play.click();
      return;
    }
    const next = stepForKey(event.key, at(), steps.length);
    if (next === null) return;
    event.preventDefault();
    go(next);
  };
  life.on(slider, "input", () => go(Number(slider.value)));
  life.on(slider, "keydown", keyed);
  life.onChange("step", show);
  show();
  return { bar, keyed, at, go, slider };
}

/** The last place of an ascending list whose value is not above `value`; 0 if all are. */
export function placeOf(ascending, value) {
  let low = 0;
  let high = ascending.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (ascending[middle] <= value) low = middle + 1;
    else high = middle;
  }
  return Math.max(0, low - 1);
}
