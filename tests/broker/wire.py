"""A wire between clients and a broker that can be cut for one of them."""

import socket
import threading
from contextlib import suppress
from typing import Self

HOST = "127.0.0.1"
CHUNK_BYTES = 65_536


class Wire:
    """Passes on what clients and a broker say; a context manager. `port` is what the broker has to advertise."""

    def __init__(self) -> None:
        self._server = socket.create_server((HOST, 0))
        self.port: int = self._server.getsockname()[1]
        self._target = 0
        self._lock = threading.Lock()
        self._pairs: dict[tuple[socket.socket, socket.socket], bytes] = {}
        self._cut: bytes | None = None

    def __enter__(self) -> Self:
        threading.Thread(target=self._accept, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.close()
        with self._lock:
            for pair in self._pairs:
                _close(*pair)

    def lead_to(self, port: int) -> None:
        """Say where the broker really listens."""
        self._target = port

    def cut(self, client_id: str) -> None:
        """Break what a client has open, and let nothing of it through until `mend`."""
        with self._lock:
            self._cut = client_id.encode()
            for pair, first in self._pairs.items():
                if self._cut in first:
                    _close(*pair)

    def mend(self) -> None:
        """Let everything through again."""
        with self._lock:
            self._cut = None

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._server.accept()
            except OSError:
                return
            threading.Thread(target=self._join, args=(client,), daemon=True).start()

    def _join(self, client: socket.socket) -> None:
        """Look at the first request, which names the client, and pass on everything from there."""
        with suppress(OSError), client, socket.create_connection((HOST, self._target)) as broker:
            first = client.recv(CHUNK_BYTES)
            with self._lock:
                if self._cut is not None and self._cut in first:
                    return
                self._pairs[client, broker] = first
            broker.sendall(first)
            back = threading.Thread(target=_pass_on, args=(broker, client), daemon=True)
            back.start()
            _pass_on(client, broker)
            back.join()
        with self._lock:
            self._pairs.pop((client, broker), None)


def _pass_on(source: socket.socket, sink: socket.socket) -> None:
    with suppress(OSError):
        while chunk := source.recv(CHUNK_BYTES):
            sink.sendall(chunk)
    _close(source, sink)


def _close(*sockets: socket.socket) -> None:
    for each in sockets:
        with suppress(OSError):
            each.shutdown(socket.SHUT_RDWR)
