"""The contents of a machine without tensors as bytes: a session's way out of it and into another.

An image is the tokens it has consumed, a page its cells, each of a fixed size; a cell that nobody
asks for, or that nobody wrote, is zero.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ninfer_lab.contract.capacity import KvPool
from ninfer_lab.contract.contents import DeviceImage, DevicePage, ImagePlace, PagePlace
from ninfer_lab.contract.ids import LaneId
from ninfer_lab.contract.options import PAGE_TOKENS
from ninfer_lab.contract.placement import CheckpointPlacement, LedgerSnapshot
from ninfer_lab.contract.token_span import DIGEST_BYTES, TOKEN_BYTES, TokenSpan
from ninfer_lab.machine.lane_tables import LaneTables
from simulation.content_memory import NEVER, Consumed, ContentMemory

IMAGE_TOKENS = 1_023
"""The most tokens a saved image has room for."""


class ContentBytes(LaneTables):
    """The `ContentsApi` of a machine with a `ContentMemory`.

    Attributes:
        contents_signature: As if of other weights, where a test sets it so.
        fails_write: Asked before every write, whether it raises.
    """

    _memory: ContentMemory

    def __init__(self) -> None:
        super().__init__()
        self.contents_signature = "histories and digests"
        self.fails_write: Callable[[], bool] = lambda: False

    def content_bytes(self, pool: KvPool | None) -> int:
        if pool is None:
            return TOKEN_BYTES * (1 + IMAGE_TOKENS)
        return PAGE_TOKENS * DIGEST_BYTES

    def read_image(self, place: ImagePlace) -> bytes:
        if isinstance(place, DeviceImage):
            image = self._memory.image(place.slot)
        else:
            image = self._memory.host_image(place.slot)
        assert len(image.tokens) <= IMAGE_TOKENS
        span = TokenSpan((len(image.tokens), *image.tokens))
        return span.to_bytes().ljust(self.content_bytes(None), b"\0")

    def read_page(self, place: PagePlace, cells_count: int) -> bytes:
        if isinstance(place, DevicePage):
            cells = self._memory.page(place.pool, place.page)
        else:
            cells = self._memory.host_page(place.pool, place.granule)
        empty = bytes(DIGEST_BYTES)
        asked = (empty if cell == NEVER else cell for cell in cells[:cells_count])
        return b"".join(asked).ljust(self.content_bytes(place.pool), b"\0")

    def write_image(self, place: ImagePlace, content: bytes) -> None:
        self._require_working()
        count, *tokens = TokenSpan.from_bytes(content)
        image = Consumed().then(tokens[:count])
        if isinstance(place, DeviceImage):
            self._memory.put_image(place.slot, image)
        else:
            self._memory.put_host_image(place.slot, image)

    def write_row(self, lane: LaneId, pool: KvPool, pages: Sequence[bytes]) -> None:
        self._require_working()
        for page, content in zip(self._bound(lane, pool), pages, strict=True):
            starts = range(0, len(content), DIGEST_BYTES)
            cells = [content[start : start + DIGEST_BYTES] for start in starts]
            self._memory.put_page(pool, page, tuple(cell if any(cell) else NEVER for cell in cells))

    def fill_behind(self, checkpoint: CheckpointPlacement, ledger: LedgerSnapshot) -> None:
        """What lies behind a checkpoint's frontier in its tail page is somebody else's."""
        page = {each.page: each.device_page for each in ledger.pages}[checkpoint.pages[-1]]
        assert page is not None
        end = checkpoint.summary.frontier_tokens % PAGE_TOKENS
        self._memory.put_cells(
            KvPool.MAIN, page, end, [b"\xff" * DIGEST_BYTES] * (PAGE_TOKENS - end)
        )

    def _require_working(self) -> None:
        if self.fails_write():
            raise OSError("the device gave up")
