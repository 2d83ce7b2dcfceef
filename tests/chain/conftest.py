"""What the chain tests share with those of a single broker; and what a storm did, in the summary of the run."""

from typing import Any

from tests.broker.conftest import outside, quick_session, serve

__all__ = ["outside", "quick_session", "serve"]


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """Print what storms counted: workers of a parallel run have no screen of their own."""
    for reports in terminalreporter.stats.values():
        for report in reports:
            for name, told in getattr(report, "user_properties", ()):
                if getattr(report, "when", "") == "call":
                    terminalreporter.write_line(f"{report.nodeid.rsplit('::')[-1]} {name}: {told}")
