"""How does text become token ids with known character positions, and an id become bytes?

Owns `Tokenizer`, a wrapper of a checkpoint's `tokenizer.json` that switches off everything which
would add, drop or hide tokens (post-processing, truncation, padding), and the stop token ids.
Does not know messages or templates: special tokens come from the template's text.
Source: the `tokenizers` library; byte-level alphabet as in GPT-2's vocabulary.
"""

from __future__ import annotations

import json
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass

import tokenizers

from ninfer_lab.contract.errors import CheckpointError, PromptError
from ninfer_lab.contract.token_span import TokenSpan
from ninfer_lab.frontend.checkpoint_folder import CheckpointText


@dataclass(frozen=True, slots=True, kw_only=True)
class EncodedText:
    """Tokens of a text, with the half-open character range each stands for.

    Args:
        tokens: The ids.
        starts_chars: Start of each token's range; tokens that share a character share a range.
        ends_chars: End of each token's range.
    """

    tokens: TokenSpan
    starts_chars: tuple[int, ...]
    ends_chars: tuple[int, ...]

    def frontier_tokens(self, position_chars: int) -> int | None:
        """The token frontier that falls exactly on a character position.

        Args:
            position_chars: In `[0, len(text)]`.

        Returns:
            How many tokens lie wholly before the position while all others begin at or after it;
            `None` where a token straddles the position or characters there belong to no token.
        """
        frontier = bisect_left(self.starts_chars, position_chars)
        before_ends = frontier == 0 or self.ends_chars[frontier - 1] <= position_chars
        at_end = frontier == len(self.starts_chars)
        begins_here = (
            self.ends_chars[-1:] in ((), (position_chars,))
            if at_end
            else self.starts_chars[frontier] == position_chars
        )
        return frontier if before_ends and begins_here else None


class Tokenizer:
    """Text to tokens and back, exactly as the checkpoint's vocabulary says.

    Args:
        tokenizer_json: The text of a `tokenizer.json`.
        stop_token_ids: Ids that end an answer.
        eos_token: The text of the end-of-sequence token, added to the stop ids where given.

    Raises:
        CheckpointError: The JSON is no tokenizer, or a stop token is not in the vocabulary.
    """

    def __init__(
        self,
        tokenizer_json: str,
        *,
        stop_token_ids: Sequence[int] = (),
        eos_token: str | None = None,
    ) -> None:
        try:
            inner = tokenizers.Tokenizer.from_str(tokenizer_json)
        except Exception as error:  # the library raises bare Exception for whatever it cannot read
            raise CheckpointError(
                "tokenizer.json",
                found=str(error)[:200],
                legal="a file the tokenizers library reads",
            ) from error
        # A post-processor adds tokens the template did not ask for and trims offsets, and a
        # truncation left in the file would cut a prompt without a word.
        inner.post_processor = None
        inner.no_truncation()
        inner.no_padding()
        self._inner = inner
        added = inner.get_added_tokens_decoder()
        self._added_text = {token_id: str(token.content) for token_id, token in added.items()}
        self._special_ids = frozenset(i for i, token in added.items() if token.special)
        self._piece_bytes: dict[int, bytes] = {}
        self.decodes_bytes = _is_byte_level(tokenizer_json)
        """Whether an answer's bytes are simply the concatenation of its tokens' bytes."""
        self.stop_token_ids = self._checked_stops(stop_token_ids, eos_token)
        """Ids that end an answer by the checkpoint's own word."""

    @classmethod
    def from_checkpoint(cls, text: CheckpointText) -> Tokenizer:
        """The tokenizer a checkpoint folder describes; raises as the constructor does."""
        return cls(
            text.tokenizer_json,
            stop_token_ids=text.stop_token_ids,
            eos_token=dict(text.special_tokens).get("eos_token"),
        )

    def encode(self, text: str) -> EncodedText:
        """Tokens of a text; special tokens written in it are recognized, none is added.

        Raises:
            PromptError: The text is no Unicode text: it holds half of a surrogate pair.
        """
        encoding = self._encoding(text)
        offsets = encoding.offsets
        return EncodedText(
            tokens=TokenSpan(encoding.ids),
            starts_chars=tuple(start for start, _ in offsets),
            ends_chars=tuple(end for _, end in offsets),
        )

    def encode_tokens(self, text: str) -> TokenSpan:
        """Tokens of a text where nobody asks for positions."""
        return TokenSpan(self._encoding(text).ids)

    def decode(self, token_ids: Sequence[int]) -> str:
        """Text of tokens, special ones left out, bytes that form no character as U+FFFD."""
        return str(self._inner.decode(list(token_ids), skip_special_tokens=True))

    def splits_at(self, token_id: int) -> bool:
        """Whether this token parts the text around it before any merge.

        What stands on one side of such a token never changes the tokens on the other side.
        """
        return token_id in self._added_text

    def leaves_no_text(self, token_id: int) -> bool:
        """Whether `decode` skips this id: a special token, or one outside the vocabulary."""
        return token_id in self._special_ids or self._inner.id_to_token(token_id) is None

    def piece_bytes(self, token_id: int) -> bytes:
        """The bytes a token adds to an answer; meaningful where `decodes_bytes`."""
        piece = self._piece_bytes.get(token_id)
        if piece is None:
            piece = self._piece_bytes[token_id] = self._find_piece_bytes(token_id)
        return piece

    def _encoding(self, text: str) -> tokenizers.Encoding:
        try:
            return self._inner.encode(text, add_special_tokens=False)
        except (TypeError, UnicodeEncodeError) as error:  # what the library says of half a pair
            raise PromptError(
                "prompt text", found="half a surrogate pair", legal="Unicode text"
            ) from error

    def _find_piece_bytes(self, token_id: int) -> bytes:
        if self.leaves_no_text(token_id):
            return b""
        piece = str(self._inner.id_to_token(token_id))
        try:
            return bytes(_BYTE_OF_SIGN[sign] for sign in piece)
        except KeyError:  # an added token is written in plain text, not in the byte alphabet
            return piece.encode("utf-8")

    def _checked_stops(self, ids: Sequence[int], eos_token: str | None) -> tuple[int, ...]:
        stops = list(ids)
        if eos_token is not None:
            eos_id = self._inner.token_to_id(eos_token)
            if eos_id is None:
                raise CheckpointError(
                    "tokenizer_config.json: eos_token",
                    found=repr(eos_token),
                    legal="a token that tokenizer.json has",
                )
            stops.append(int(eos_id))
        return tuple(dict.fromkeys(stops))


def _is_byte_level(tokenizer_json: str) -> bool:
    """Whether the decoder is the byte-level one alone, so that decoding is concatenation."""
    decoder = json.loads(tokenizer_json).get("decoder")
    return isinstance(decoder, dict) and decoder.get("type") == "ByteLevel"


def _byte_alphabet() -> dict[str, int]:
    """Byte of each sign of the byte-level alphabet: printable bytes stand for themselves.

    The other 68 bytes take the signs from U+0100 on, in the order of the bytes.
    """
    printable = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    others = [byte for byte in range(0x100) if byte not in set(printable)]
    signs = {chr(byte): byte for byte in printable}
    signs.update({chr(0x100 + place): byte for place, byte in enumerate(others)})
    return signs


_BYTE_OF_SIGN = _byte_alphabet()
