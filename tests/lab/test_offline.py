"""Law: after the network is refused, this machine is reached, no other, and who asked is told."""

from __future__ import annotations

import subprocess
import sys

import pytest

SETUP = "import socket\nfrom ninfer_lab.lab.offline import refuse_network\nrefuse_network()\n"


def run(code: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", SETUP + code], capture_output=True, text=True, check=False
    )


@pytest.mark.parametrize(
    ("code", "host"),
    [
        ("socket.create_connection(('192.0.2.1', 80))", "192.0.2.1"),
        ("socket.create_connection(('example.org', 80))", "example.org"),
        ("socket.getaddrinfo(b'example.org', 80)", "example.org"),
        ("socket.socket().connect_ex(('192.0.2.1', 80))", "192.0.2.1"),
        ("socket.socket(type=socket.SOCK_DGRAM).sendto(b'', ('192.0.2.1', 53))", "192.0.2.1"),
        ("socket.socket(socket.AF_INET6).connect(('2001:db8::1', 80))", "2001:db8::1"),
    ],
)
def test_elsewhere_is_refused(code: str, host: str) -> None:
    done = run(code)
    assert done.returncode == 1
    last_line = done.stderr.strip().splitlines()[-1]
    assert last_line.startswith("ninfer_lab.lab.offline.NetworkRefused: network: found a request")
    assert host in last_line


def test_this_machine_is_reached() -> None:
    done = run(
        "with socket.create_server(('127.0.0.1', 0)) as server:\n"
        "    port = server.getsockname()[1]\n"
        "    socket.create_connection(('localhost', port)).close()\n"
        "    socket.create_connection(('127.0.0.1', port)).close()\n"
        "a, b = socket.socketpair()\n"
        "a.sendall(b'x')\n"
        "print(b.recv(1))\n"
    )
    assert (done.returncode, done.stdout) == (0, "b'x'\n"), done.stderr
