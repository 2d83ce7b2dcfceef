"""An address that takes every connection and never says a word."""

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress


@contextmanager
def black_hole() -> Iterator[str]:
    """Give host and port of it."""
    taken: list[socket.socket] = []
    with socket.create_server(("127.0.0.1", 0), backlog=100) as server:

        def take() -> None:
            with suppress(OSError):
                while True:
                    taken.append(server.accept()[0])

        thread = threading.Thread(target=take, daemon=True)
        thread.start()
        yield f"127.0.0.1:{server.getsockname()[1]}"
        server.shutdown(socket.SHUT_RDWR)
        thread.join(5)
    for each in taken:
        each.close()
