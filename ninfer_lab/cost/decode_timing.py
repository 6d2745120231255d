"""How long does a decode step take on the machines of the presets?

Owns the derivation of `DecodeTiming` from published decode rates, and those rates. The cost model
has no price for decode, so no preset holds it; a machine in virtual time needs it all the same. The
law and its terms are ours throughout: only tokens per second are published.
Does not know geometry: bytes of KV come from the caller, bytes of an image from the evidence.

How: decode is bound by memory, so a step takes the weights' time once, and for each row its
StateImage, read and written, and its KV, read. Two rates of one machine that differ in the KV they
read give the time of a byte; what is then left of one rate is the weights. Rates of several rows
without speculation were not published, so the row term is derived and not measured.
Source: rates of the original engine and of its RTX 3090 builds, named at each constant.
"""

from __future__ import annotations

from dataclasses import dataclass

from ninfer_lab.contract.device_timing import DecodeTiming
from ninfer_lab.contract.fixed_point import q32_product, q32_rate

_PICO = 10**12


@dataclass(frozen=True, slots=True, kw_only=True)
class DecodeRate:
    """A published rate of one row, without speculation.

    Attributes:
        millitokens_per_s: Tokens per second × 1000: the published decimal, exactly.
        frontier_tokens: Mean number of tokens that attention read.
        kv_bytes_per_token: In the KV format of the measurement.
    """

    millitokens_per_s: int
    frontier_tokens: int
    kv_bytes_per_token: int

    @property
    def step_ns(self) -> int:
        """Time of one step."""
        return _PICO // self.millitokens_per_s

    @property
    def read_bytes(self) -> int:
        """KV that one step reads."""
        return self.frontier_tokens * self.kv_bytes_per_token


@dataclass(frozen=True, slots=True, kw_only=True)
class DecodeEvidence:
    """What is known of one model on one machine.

    Attributes:
        less_kv: Of two rates of this machine that differ in nothing but the KV they read, the one
            that reads less.
        more_kv: The other.
        rate: A rate of the model itself.
        state_image_bytes: Of the model.
    """

    less_kv: DecodeRate
    more_kv: DecodeRate
    rate: DecodeRate
    state_image_bytes: int

    @property
    def ns_per_byte_q32(self) -> int:
        """Time of one byte of memory."""
        return q32_rate(
            self.more_kv.step_ns - self.less_kv.step_ns,
            self.more_kv.read_bytes - self.less_kv.read_bytes,
        )


def decode_timing(evidence: DecodeEvidence, *, kv_bytes_per_token: int) -> DecodeTiming:
    """The step law that reproduces the evidence's rate.

    Args:
        evidence: Of the machine and the model.
        kv_bytes_per_token: In the KV format of the world, which may differ from the measured one.

    Example, by hand: an RTX 3090 decodes 27B at 33.86 tokens/s with 8-bit KV and at 32.50 with
    16-bit KV, both at 32,832 tokens. The steps take 29.533 and 30.769 ms; 1.236 ms more for
    1.042 GB more is 843 GB/s, which is near what the card's memory does. Of 29.533 ms the KV takes
    1.316 and the image, 154 MB read and written, 0.365; the weights are the other 27.852.

    >>> timing = decode_timing(RTX_3090_27B, kv_bytes_per_token=33_792)
    >>> timing.step_ns, timing.row_ns, timing.elapsed_ns((32_832,))
    (27852688, 365093, 29533372)
    """
    rate_q32 = evidence.ns_per_byte_q32
    row_ns = q32_product(2 * evidence.state_image_bytes, rate_q32)
    kv_ns = q32_product(evidence.rate.read_bytes, rate_q32)
    return DecodeTiming(
        step_ns=evidence.rate.step_ns - row_ns - kv_ns,
        row_ns=row_ns,
        kv_bytes_per_token=kv_bytes_per_token,
        kv_ns_per_byte_q32=rate_q32,
    )


_IMAGE_27B_BYTES = 153_944_064
_IMAGE_35B_A3B_BYTES = 64_389_120
_KV_27B_INT8_BYTES = 33_792
_KV_27B_BF16_BYTES = 65_536
_KV_35B_A3B_INT8_BYTES = 10_560

_5090_SHORT = DecodeRate(
    millitokens_per_s=86_300, frontier_tokens=1_088, kv_bytes_per_token=_KV_27B_INT8_BYTES
)
RTX_5090_27B = DecodeEvidence(
    less_kv=_5090_SHORT,
    more_kv=DecodeRate(
        millitokens_per_s=84_900, frontier_tokens=8_600, kv_bytes_per_token=_KV_27B_INT8_BYTES
    ),
    rate=_5090_SHORT,
    state_image_bytes=_IMAGE_27B_BYTES,
)
"""Qwen3.8-27B, nvfp4 weights, 8-bit KV, on one RTX 5090, with the catalog cache: 86.3 tokens/s over
2,048 tokens after a prompt of 64 (mean frontier 64 + 1,024), and 84.9 after prompts of about 8,600.
The output length of the second was not published; its frontier is taken as the prompt. Other
campaigns on that card, with other builds, lie 15 % lower (71.2 tokens/s at 7,680)."""

_3090_INT8 = DecodeRate(
    millitokens_per_s=33_860, frontier_tokens=32_832, kv_bytes_per_token=_KV_27B_INT8_BYTES
)
_3090_BF16 = DecodeRate(
    millitokens_per_s=32_500, frontier_tokens=32_832, kv_bytes_per_token=_KV_27B_BF16_BYTES
)
RTX_3090_27B = DecodeEvidence(
    less_kv=_3090_INT8, more_kv=_3090_BF16, rate=_3090_INT8, state_image_bytes=_IMAGE_27B_BYTES
)
"""Qwen3.8-27B, groupwise-int weights, on one RTX 3090: 33.86 tokens/s with 8-bit KV and 32.50 with
16-bit KV over 128 steps after 32,768 tokens (mean frontier 32,768 + 64). The same page gives 39.07
at a short context whose length it does not say; this law would give 35.4 there."""

RTX_3090_35B_A3B = DecodeEvidence(
    less_kv=_3090_INT8,
    more_kv=_3090_BF16,
    rate=DecodeRate(
        millitokens_per_s=183_000, frontier_tokens=0, kv_bytes_per_token=_KV_35B_A3B_INT8_BYTES
    ),
    state_image_bytes=_IMAGE_35B_A3B_BYTES,
)
"""35B-A3B, groupwise-int weights, on one RTX 3090: about 183 tokens/s without speculation. Neither
context length nor KV format were published; the frontier is taken as 0. The time of a byte is the
card's, from the two rates of 27B."""
