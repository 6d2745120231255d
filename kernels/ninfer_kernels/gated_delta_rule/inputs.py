"""What does the delta rule read beside its state?

Owns the argument value shared by every form of the op. Does not know how it is projected.
"""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor


@dataclass(frozen=True, slots=True, kw_only=True)
class DeltaInputs:
    """N tokens: the tokens of one row in prefill, one token of each row in decode.

    Attributes:
        query_and_key: `[N, 2, HK, K]`, queries at index 0 and keys at index 1, neither normalised.
            HV is a multiple of HK, and key head i serves the value heads `[i HV/HK, (i + 1)
            HV/HK)`.
        value: `[N, HV, V]`.
        log_decay: float32 `[N, HV]`, at most 0.
        beta: float32 `[N, HV]`, write strength.
    """

    query_and_key: Tensor
    value: Tensor
    log_decay: Tensor
    beta: Tensor
