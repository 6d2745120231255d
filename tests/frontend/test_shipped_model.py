"""Law: with the shipped checkpoint a plain answer comes back token for token in the next turn."""

from __future__ import annotations

from pathlib import Path

import pytest

from frontend.texts import assistant, chat, user
from ninfer_lab.contract.output import OutputRules
from ninfer_lab.contract.prompt import PromptLimits
from ninfer_lab.frontend.prepared_prompt import Frontend

SHIPPED = Path(__file__).parents[2] / "datasets" / "tiny"
FOLDERS = sorted(path.parent for path in SHIPPED.rglob("tokenizer.json"))
LIMITS = PromptLimits(max_prompt_tokens=4_096, vocabulary_tokens=1_000_000)


@pytest.mark.skipif(not FOLDERS, reason="datasets/tiny holds no checkpoint yet")
def test_a_plain_answer_comes_back_whole() -> None:  # spec: IDN-5
    for folder in FOLDERS:
        front = Frontend.from_folder(folder)
        asked = chat(user("What is the code of the red box?"))
        prompt = front.prepare(asked, LIMITS)
        assert prompt.rewrite_boundaries, folder
        said = "The code of the red box is 4711."
        again = front.prepare(chat(*asked.messages, assistant(said), user("Why?")), LIMITS)
        start = len(prompt.tokens)
        assert again.tokens[:start] == prompt.tokens, folder
        rules = OutputRules(max_output_tokens=500, stop_token_ids=front.stop_token_ids)
        output = front.open_output(asked, prompt, rules)
        for token in again.tokens[start:]:
            if output.push(token).finished is not None:
                break
        answer = output.close()
        assert answer.text == said, folder
        assert answer.reconstruction_boundary_tokens == answer.accepted_tokens > 0, folder
        assert set(prompt.rewrite_execution_frontiers) <= set(again.rewrite_execution_frontiers)
