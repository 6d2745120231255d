"""How is it proven that nothing asks the network?

Owns one switch: after `refuse_network()` this process reaches its own machine and nothing else, and
whoever tries is told so at the line that tried. Jupyter's own sockets are loopback and stay open.
Does not know who would have asked; there is no way back, for it is meant for a kernel or a child
process that ends soon.
Source: rule NB-2 (every notebook runs offline).
"""

from __future__ import annotations

import ipaddress
import socket
from typing import Any, NoReturn


class NetworkRefused(OSError):
    """Something asked for an address outside this machine."""


def refuse_network() -> None:
    """Makes every connection and look-up beyond loopback raise `NetworkRefused`.

    Effects: replaces `connect`, `connect_ex` and `sendto` of `socket.socket` and
    `socket.getaddrinfo`, for the life of the process.
    """
    look_up = socket.getaddrinfo

    def getaddrinfo(host: Any, *arguments: Any, **options: Any) -> Any:
        if host is not None and not _is_here(host):
            _refuse(host)
        return look_up(host, *arguments, **options)

    socket.getaddrinfo = getaddrinfo
    for name in ("connect", "connect_ex", "sendto"):
        setattr(socket.socket, name, _guarded(getattr(socket.socket, name)))


def _guarded(method: Any) -> Any:
    """The socket method, refusing addresses elsewhere; the address is its last argument."""

    def guarded(self: socket.socket, *arguments: Any) -> Any:
        if self.family in (socket.AF_INET, socket.AF_INET6) and not _is_here(arguments[-1][0]):
            _refuse(arguments[-1][0])
        return method(self, *arguments)

    return guarded


def _is_here(host: str | bytes) -> bool:
    """Whether the name or address is this machine's loopback (or "any", which only binds)."""
    name = host.decode() if isinstance(host, bytes) else host
    if name in ("", "localhost"):
        return True
    try:
        address = ipaddress.ip_address(name.partition("%")[0])
    except ValueError:
        return False
    return address.is_loopback or address.is_unspecified


def _refuse(host: str | bytes) -> NoReturn:
    raise NetworkRefused(
        f"network: found a request for {host!r}; legal: this machine (the process runs offline)"
    )
