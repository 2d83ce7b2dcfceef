"""What the tests of other languages share with those of a single broker."""

from tests.broker.conftest import outside, serve

__all__ = ["outside", "serve"]
