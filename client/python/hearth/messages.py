"""What is sent and what comes back, as plain Python values."""

from __future__ import annotations

import base64
import os
from dataclasses import dataclass, field
from typing import Any, Mapping, Optional, Sequence, Union

PROTOCOL = 6
MAGIC = "hearth"

#: Stands for what a run's zygote had executed at its warm point.
BASELINE = "baseline"


class HearthError(Exception):
    """Something went wrong with the daemon; what, and what to do, is in the text."""


class DaemonGone(HearthError):
    """The daemon was stopped, or died, while this connection was open. Connect again: that starts another one."""


class VersionError(HearthError):
    """The daemon speaks another version of the protocol."""


class Failure(HearthError):
    """The daemon says why it does not answer a request."""

    def __init__(self, kind: str, message: str) -> None:
        super().__init__(message)
        self.kind = kind


def bytes_to_json(data: Union[str, bytes]) -> Any:
    """Bytes as the protocol writes them: text if they are UTF-8."""
    if isinstance(data, str):
        return data
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        return {"base64": base64.b64encode(data).decode("ascii")}


def bytes_from_json(value: Any) -> bytes:
    """Bytes from what the protocol writes."""
    if isinstance(value, str):
        return value.encode("utf-8")
    return base64.b64decode(value["base64"])


@dataclass(frozen=True)
class Order:
    """What to run. Runs of equal orders come from one warm process."""

    #: A subject's name, or a program's path.
    subject: str
    #: Its arguments; ``{}`` stands for the input's path.
    arguments: Sequence[str] = ()
    #: The input's path; by default ``input.c`` if ``{}`` is among the arguments.
    input: Optional[str] = None
    #: ``main``, ``input`` or ``symbol:NAME``.
    warm: Optional[str] = None
    #: The working directory; by default this process's.
    directory: Optional[str] = None
    #: The environment; by default this process's.
    environment: Optional[Mapping[str, str]] = None
    #: ``wall_ms``, ``cpu_s``, ``memory_bytes``, ``output_bytes``.
    limits: Mapping[str, int] = field(default_factory=dict)
    #: Go on where the machine has not all that keeps runs apart.
    best_effort_sandbox: bool = False
    shows: list[str] = field(default_factory=list)

    def to_json(self) -> dict[str, Any]:
        environment = os.environ if self.environment is None else self.environment
        return {
            "subject": self.subject,
            "arguments": list(self.arguments),
            "input": self.input,
            "warm": self.warm,
            "directory": os.getcwd() if self.directory is None else self.directory,
            "environment": dict(environment),
            "limits": dict(self.limits),
            "best_effort_sandbox": self.best_effort_sandbox,
            "shows": self.shows,
        }


@dataclass(frozen=True)
class RunFile:
    """A file that a run wrote."""

    path: str
    size: int
    #: Its contents, if they were asked for.
    data: Optional[bytes]


@dataclass(frozen=True)
class Run:
    """What came of a run."""

    #: Its number, by which other questions name it; 0 if it has no coverage.
    run: int
    #: Its place in a batch.
    index: int
    #: ``exited``, ``signalled``, ``timed_out``, ``out_of_memory``, ``output_limit``, ``zygote_lost``.
    outcome: str
    #: The exit code or the signal, for the first two outcomes.
    code: Optional[int]
    stdout: bytes
    stderr: bytes
    files: tuple[RunFile, ...]
    lines_executed: int
    functions_executed: int
    #: Why there is no coverage.
    no_coverage: Optional[str]
    forked: bool
    missing: tuple[str, ...]
    total_ms: float
    run_ms: float
    #: Processor time of it and of what it waited for.
    cpu_ms: float
    harvest_ms: float

    @property
    def ok(self) -> bool:
        """Did it exit with code 0?"""
        return self.outcome == "exited" and self.code == 0

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> "Run":
        outcome = value["outcome"]
        name, code = (outcome, None) if isinstance(outcome, str) else next(iter(outcome.items()))

        def file(item: Mapping[str, Any]) -> RunFile:
            data = item["bytes"]
            return RunFile(item["path"], item["size"], None if data is None else bytes_from_json(data))

        return cls(
            run=value["run"],
            index=value["index"],
            outcome=name,
            code=code,
            stdout=bytes_from_json(value["stdout"]),
            stderr=bytes_from_json(value["stderr"]),
            files=tuple(file(item) for item in value["files"]),
            lines_executed=value["lines_executed"],
            functions_executed=value["functions_executed"],
            no_coverage=value["no_coverage"],
            forked=value["forked"],
            missing=tuple(value["missing"]),
            total_ms=value["total_us"] / 1000,
            run_ms=value["run_us"] / 1000,
            cpu_ms=value["cpu_us"] / 1000,
            harvest_ms=value["harvest_us"] / 1000,
        )


#: A run: its number, its name, or the :class:`Run` itself.
RunRef = Union[int, str, Run]


def run_to_json(run: RunRef) -> Any:
    if isinstance(run, Run):
        return {"id": run.run}
    if isinstance(run, int):
        return {"id": run}
    return run if run == BASELINE else {"name": run}


@dataclass(frozen=True)
class Coverage:
    """Coverage, or a difference of coverage, at the level that was asked for."""

    #: ``{source: {line: count}}``; in a delta ``{source: {line: (count, other's count)}}``.
    lines: dict[str, dict[int, Any]]
    #: ``(name, source, line, count, other's count)``.
    functions: list[tuple[str, str, int, int, int]]
    #: ``{source: (lines, other's lines)}``.
    files: dict[str, tuple[int, int]]

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> "Coverage":
        def lines(file: Mapping[str, Any]) -> dict[int, Any]:
            if file["against"]:
                return {line: (count, other) for (line, count), other in zip(file["lines"], file["against"])}
            return {line: count for line, count in file["lines"]}

        return cls(
            lines={file["source"]: lines(file) for file in value["lines"]},
            functions=[
                (item["name"], item["source"], item["line"], item["count"], item["against"])
                for item in value["functions"]
            ],
            files={item["source"]: (item["lines"], item["against"]) for item in value["files"]},
        )


@dataclass(frozen=True)
class Quality:
    """How good a set of passing runs is for localizing, by RecBi's formulas."""

    similarity: float
    diversity: float
    quality: float


@dataclass(frozen=True)
class Zygote:
    """A warm process that waits for runs."""

    #: The program.
    binary: str
    arguments: tuple[str, ...]
    #: Where it waits: ``main``, ``input`` or ``symbol:NAME``.
    warm: str
    memory_bytes: int
    #: Since when it was not used.
    idle_ms: int


@dataclass(frozen=True)
class Latency:
    """How long answers to one kind of request took, in milliseconds."""

    #: The request: ``run``, ``delta``, ...
    ask: str
    #: How many there were.
    count: int
    p50_ms: float
    p90_ms: float
    p99_ms: float
    max_ms: float


@dataclass(frozen=True)
class Status:
    """How the daemon is."""

    #: Its version.
    build: str
    pid: int
    uptime_s: int
    #: Clients that are connected.
    sessions: int
    #: Runs that wait for a core, those under way, and how many can be at a time.
    queued: int
    running: int
    cores: int
    #: The daemon's own memory.
    memory_bytes: int
    #: Runs that are kept, what they take, and what they may take.
    kept_runs: int
    kept_bytes: int
    kept_limit_bytes: int
    zygotes: tuple[Zygote, ...]
    latencies: tuple[Latency, ...]

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> "Status":
        def zygote(item: Mapping[str, Any]) -> Zygote:
            return Zygote(
                binary=item["binary"],
                arguments=tuple(item["arguments"]),
                warm=item["warm"],
                memory_bytes=item["memory_bytes"],
                idle_ms=item["idle_ms"],
            )

        def latency(item: Mapping[str, Any]) -> Latency:
            times = {f"{name}_ms": item[f"{name}_us"] / 1000 for name in ("p50", "p90", "p99", "max")}
            return Latency(ask=item["ask"], count=item["count"], **times)

        numbers = (
            "pid",
            "uptime_s",
            "sessions",
            "queued",
            "running",
            "cores",
            "memory_bytes",
            "kept_runs",
            "kept_bytes",
            "kept_limit_bytes",
        )
        return cls(
            build=value["build"],
            zygotes=tuple(zygote(item) for item in value["zygotes"]),
            latencies=tuple(latency(item) for item in value["latencies"]),
            **{name: value[name] for name in numbers},
        )


@dataclass(frozen=True)
class Suspect:
    """A suspicious line, function or file."""

    rank: int
    score: float
    source: str
    line: int
    function: str
