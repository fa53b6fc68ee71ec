"""Coverage of compiles in milliseconds: a client of the Hearth daemon.

>>> import hearth
>>> with hearth.connect() as h:
...     order = hearth.Order("tcc", ["-c", "{}", "-o", "out.o"])
...     run = h.run(order, "int x;")
...     print(run.lines_executed)
"""

from .client import Hearth, connect
from .messages import (
    BASELINE,
    Coverage,
    DaemonGone,
    Failure,
    HearthError,
    Latency,
    Order,
    Quality,
    Run,
    RunFile,
    Status,
    Suspect,
    VersionError,
    Zygote,
)

__all__ = [
    "BASELINE",
    "Coverage",
    "DaemonGone",
    "Failure",
    "Hearth",
    "HearthError",
    "Latency",
    "Order",
    "Quality",
    "Run",
    "RunFile",
    "Status",
    "Suspect",
    "VersionError",
    "Zygote",
    "connect",
]
