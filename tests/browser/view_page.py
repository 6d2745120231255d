"""How is a view tried without Jupyter? On a blank page, with a model that only remembers.

Owns the page: it mounts a view's own module and data, counts what is saved and who listens, and
remembers what went wrong. Does not know what a view draws.
"""

from __future__ import annotations

import base64
from typing import Any

from playwright.sync_api import ConsoleMessage, Page, Request

from ninfer_lab.lab.widgets.live_view import LiveView

FOREIGN = ("layout", "comm", "tabbable", "tooltip")
"""Traits that are every widget's, and no view's."""

LIGHT = {
    "--jp-layout-color0": "white",
    "--jp-layout-color1": "white",
    "--jp-layout-color2": "#eee",
    "--jp-content-font-color1": "rgba(0,0,0,.87)",
    "--jp-content-font-color2": "rgba(0,0,0,.54)",
    "--jp-border-color1": "#bdbdbd",
}
DARK = {
    "--jp-layout-color0": "#111",
    "--jp-layout-color1": "#212121",
    "--jp-layout-color2": "#424242",
    "--jp-content-font-color1": "#fff",
    "--jp-content-font-color2": "rgba(255,255,255,.7)",
    "--jp-border-color1": "#616161",
}
"""Word for word as JupyterLab's themes have them: a colour may be a name."""

PIXEL = """({selector, x, y}) => {
  const canvas = document.querySelector(selector);
  const ratio = window.devicePixelRatio || 1;
  return [...canvas.getContext('2d').getImageData(x * ratio, y * ratio, 1, 1).data].slice(0, 3);
}"""

PAINTED = """() => {
  const pen = CanvasRenderingContext2D.prototype;
  window.calls = {};
  for (const name of ['fillRect', 'fill', 'stroke', 'fillText']) {
    const act = pen[name];
    pen[name] = function (...given) {
      const at = [...document.querySelectorAll('canvas')].indexOf(this.canvas);
      window.calls[at] = (window.calls[at] ?? 0) + 1;
      return act.apply(this, given);
    };
  }
}"""

NEXT_FRAME = "() => new Promise(done => requestAnimationFrame(() => setTimeout(done)))"

UNLIKE = """([selector, one, other]) => {
  const [a, b] = [one, other].map(name => {
    const canvas = window[name].el.querySelector(selector);
    return canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height).data;
  });
  if (a.length !== b.length) return a.length;
  let count = 0;
  // As they are seen: what is nearly clear has no colour. A curve that is painted within a clip
  // may come to lie a fifth of a pixel beside itself.
  const seen = (data, i, part) => (part === 3 ? data[i + 3] : (data[i + part] * data[i + 3]) / 255);
  for (let i = 0; i < a.length; i += 4) {
    if ([0, 1, 2, 3].some(part => Math.abs(seen(a, i, part) - seen(b, i, part)) > 90)) count += 1;
  }
  return count;
}"""

MOUNT = """async ({esm, css, state, buffers, variables, name}) => {
  const held = {...state};
  for (const [key, content] of Object.entries(buffers)) {
    const bytes = Uint8Array.from(atob(content), c => c.charCodeAt(0));
    // A message's buffer begins anywhere: so does this one.
    const shifted = new Uint8Array(bytes.length + 3);
    shifted.set(bytes, 3);
    held[key] = new DataView(shifted.buffer, 3, bytes.length);
  }
  const heard = {};
  const model = {
    get: key => held[key],
    set: (key, value) => {
      if (held[key] === value) return;
      held[key] = value;
      for (const act of [...(heard[`change:${key}`] ?? [])]) act();
    },
    save_changes: () => { model.saved += 1; },
    on: (event, act) => { (heard[event] ??= []).push(act); },
    off: (event, act) => { heard[event] = (heard[event] ?? []).filter(each => each !== act); },
    listeners: () => Object.values(heard).flat().length,
    saved: 0,
  };
  for (const [key, value] of Object.entries(variables))
    document.documentElement.style.setProperty(key, value);
  document.body.style.background = variables['--jp-layout-color0'] ?? '#ffffff';
  const el = document.createElement('div');
  document.head.append(Object.assign(document.createElement('style'), {textContent: css}));
  document.body.append(el);
  const start = performance.now();
  const url = URL.createObjectURL(new Blob([esm], {type: 'text/javascript'}));
  const view = await import(url);
  const end = await view.default.render({model, el});
  const painted = performance.now() - start;
  window[name] = {model, el, end, painted};
  return painted;
}"""

STEP_MS = """async ({name, key, values}) => {
  const {model} = window[name];
  const frame = () => new Promise(done => requestAnimationFrame(done));
  const taken = [];
  for (const value of values) {
    await frame();
    const start = performance.now();
    model.set(key, value);
    await frame();
    await new Promise(done => setTimeout(done));
    taken.push(performance.now() - start);
  }
  return taken;
}"""


class ViewPage:
    """A blank page with one view or several, each under a name."""

    def __init__(self, page: Page) -> None:
        self.page = page
        self.problems: list[str] = []
        page.set_content("<!doctype html><title>a view</title>")
        page.on("console", self._note_console)
        page.on("pageerror", lambda error: self.problems.append(str(error)))
        page.on("request", self._note_request)

    def mount(self, view: LiveView, *, dark: bool = False, name: str = "shown") -> float:
        """Shows a view; returns how long it took until it was drawn, in ms."""
        state = {
            key: value
            for key, value in view.get_state().items()
            if not key.startswith("_") and key not in FOREIGN
        }
        buffers = {key: value for key, value in state.items() if isinstance(value, bytes)}
        taken: float = self.page.evaluate(
            MOUNT,
            {
                "esm": str(view._esm),
                "css": str(view._css),
                "state": {key: value for key, value in state.items() if key not in buffers},
                "buffers": {k: base64.b64encode(v).decode() for k, v in buffers.items()},
                "variables": DARK if dark else LIGHT,
                "name": name,
            },
        )
        return taken

    def get(self, trait: str, name: str = "shown") -> Any:
        """A trait as the model has it now."""
        return self.page.evaluate(f"() => window[{name!r}].model.get({trait!r})")

    def set(self, trait: str, value: Any, name: str = "shown") -> None:
        """As the kernel would set it."""
        self.page.evaluate(
            f"value => window[{name!r}].model.set({trait!r}, value)",
            value,
        )

    def step_ms(self, values: list[int], *, key: str = "step", name: str = "shown") -> list[float]:
        """How long each change of a trait takes until the next frame is painted."""
        taken: list[float] = self.page.evaluate(
            STEP_MS, {"name": name, "key": key, "values": values}
        )
        return taken

    def pixel(self, selector: str, x: float, y: float) -> tuple[int, int, int]:
        """Red, green and blue of a canvas at a place, in CSS pixels."""
        red, green, blue = self.page.evaluate(PIXEL, {"selector": selector, "x": x, "y": y})
        return red, green, blue

    def count_painting(self) -> None:
        """From here on, `painted` counts."""
        self.page.evaluate(PAINTED)

    def painted(self) -> dict[int, int]:
        """How many shapes and words were painted on each canvas, by its place on the page."""
        self.page.evaluate(NEXT_FRAME)
        calls: dict[str, int] = self.page.evaluate("() => window.calls ?? {}")
        return {int(canvas): count for canvas, count in calls.items()}

    def unlike(self, selector: str, one: str, other: str) -> int:
        """How many pixels of one canvas in two views are not nearly the same."""
        count: int = self.page.evaluate(UNLIKE, [selector, one, other])
        return count

    def end(self, name: str = "shown") -> int:
        """Ends a view as JupyterLab does; returns how many listeners it has left."""
        left: int = self.page.evaluate(
            f"() => {{ window[{name!r}].end(); return window[{name!r}].model.listeners(); }}"
        )
        return left

    def _note_console(self, message: ConsoleMessage) -> None:
        if message.type == "error":
            self.problems.append(message.text)

    def _note_request(self, request: Request) -> None:
        if not request.url.startswith(("data:", "blob:", "about:")):
            self.problems.append(f"request: {request.url}")
