"""Law: the ■ of the notebook ends a running request, and the engine serves on with nothing lost."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from browser.jupyter_session import LabPage

OPEN = """
from ninfer_lab import lab
engine = lab.open_engine()
chat = lab.Chat(engine, session="home")
chat.say("the lamp is red.")
"""

WITHOUT_END = """
while True:
    chat.aside("the lamp is red. " * 40 + "what colour is the lamp?")
"""

AFTER = """
snapshot = engine.describe()
lab.laws.check_laws(snapshot, engine.options)
assert snapshot.ledger.sequences == (), snapshot.ledger.sequences
turn = chat.say("what colour is the lamp?")
assert turn.log.error is None
print("turns", len(chat.turns))
"""


def test_an_interrupted_cell_leaves_the_engine_usable(
    notebook_of: Callable[..., LabPage],
) -> None:
    lab = notebook_of("interrupted.ipynb", OPEN, WITHOUT_END, AFTER)
    lab.run_cell(1)
    assert lab.errors() == []
    with pytest.raises(TimeoutError):
        lab.run_cell(2, limit_s=3)
    lab.command("notebook:interrupt-kernel", limit_s=30)
    lab.wait_for_error(limit_s=60)
    assert lab.errors() == ["KeyboardInterrupt: "]
    lab.run_cell(3)
    assert lab.errors() == ["KeyboardInterrupt: "], "the check after the interrupt failed"
    assert lab.printed(3).endswith("turns 2\n")
    assert lab.problems == []
