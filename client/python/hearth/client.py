"""The connection to the daemon."""

from __future__ import annotations

import json
import os
import shutil
import socket
import stat
import struct
import subprocess
from types import TracebackType
from typing import Any, Iterable, Iterator, Mapping, Optional, Sequence, Union

from .messages import (
    MAGIC,
    PROTOCOL,
    Coverage,
    DaemonGone,
    Failure,
    HearthError,
    Order,
    Quality,
    Run,
    RunRef,
    Status,
    Suspect,
    VersionError,
    bytes_to_json,
    run_to_json,
)

_GREETING_SECONDS = 10.0
_TRIES = 3
_FRAME_LIMIT = 64 << 20

#: The bytes of an input, or all that a run is given: ``input``, ``stdin``, ``arguments``, ``environment``,
#: ``name``, ``send_files``, ``hides_program``, ``observe``.
Input = Union[str, bytes, Mapping[str, Any]]


def default_directory() -> str:
    """The directory of the daemon's socket, as the daemon itself chooses it."""
    if os.environ.get("HEARTH_RUNTIME_DIR"):
        return os.environ["HEARTH_RUNTIME_DIR"]
    if os.environ.get("XDG_RUNTIME_DIR"):
        return os.path.join(os.environ["XDG_RUNTIME_DIR"], "hearth")
    return f"/tmp/hearth-{os.getuid()}"


def connect(directory: Optional[str] = None, daemon: Optional[str] = None) -> "Hearth":
    """Connects to the daemon, and starts it if there is none.

    ``daemon`` is the program ``hearthd``; by default ``$HEARTH_DAEMON``, else the one on the path.
    """
    directory = directory or default_directory()
    for last in range(_TRIES):
        try:
            return Hearth(_connect_or_start(directory, daemon), directory)
        except DaemonGone:
            # A daemon can end just when a client finds it.
            if last == _TRIES - 1:
                raise
    raise HearthError("the daemon cannot be reached")


def _connect_or_start(directory: str, daemon: Optional[str]) -> socket.socket:
    path = os.path.join(directory, "daemon.sock")
    for _ in range(_TRIES):
        stream = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            stream.connect(path)
            return stream
        except OSError:
            stream.close()
        _start(directory, daemon)
    raise HearthError(f"nobody listens on {path} although the daemon was started")


def _start(directory: str, daemon: Optional[str]) -> None:
    try:
        os.makedirs(directory, mode=0o700, exist_ok=True)
        data = os.lstat(directory)
    except OSError as error:
        raise HearthError(f"cannot make the daemon's directory: {error}; set HEARTH_RUNTIME_DIR to another") from error
    if not stat.S_ISDIR(data.st_mode) or data.st_uid != os.getuid() or data.st_mode & 0o077:
        raise HearthError(f"{directory} is not a directory that only you can enter; set HEARTH_RUNTIME_DIR")
    program = daemon or os.environ.get("HEARTH_DAEMON") or shutil.which("hearthd")
    if program is None:
        raise HearthError("hearthd is not on the path; set HEARTH_DAEMON to where it is")
    log_path = os.path.join(directory, "daemon.log")
    try:
        with open(log_path, "ab") as log:
            process = subprocess.Popen(
                [program, "--directory", directory],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=log,
                start_new_session=True,
            )
    except OSError as error:
        raise HearthError(f"cannot start the daemon: {error}; set HEARTH_DAEMON to the path of hearthd") from error
    assert process.stdout is not None
    with process.stdout:
        line = process.stdout.readline().decode("utf-8", "replace").strip()
    if line != "ready":
        raise HearthError(f"the daemon does not start: {line or 'see ' + log_path}")
    # It lives on without this process.
    process.returncode = 0


class Hearth:
    """A connection. Not for several threads at a time: open one for each."""

    def __init__(self, stream: socket.socket, directory: str) -> None:
        self._stream = stream
        self._directory = directory
        self._is_closed = False
        self._last_id = 0
        #: Replies that came while another request's were read.
        self._early: dict[int, list[Any]] = {}
        #: Batches that nobody reads any more.
        self._left: set[int] = set()
        hello = {"magic": MAGIC, "protocol": PROTOCOL, "encoding": "json", "build": "hearth-python 0.1.0"}
        stream.settimeout(_GREETING_SECONDS)
        self._send(hello)
        welcome = self._receive()
        stream.settimeout(None)
        if welcome.get("magic") != MAGIC:
            raise HearthError("this is not Hearth's daemon")
        if welcome["protocol"] != PROTOCOL:
            raise VersionError(
                f"the daemon speaks protocol {welcome['protocol']}, this package {PROTOCOL}; "
                "stop the daemon (`hearth stop`), or install the package of its version"
            )
        refused = welcome.get("refused")
        if refused is not None:
            if refused["kind"] == "stopping":
                raise self._gone(refused["message"])
            raise Failure(refused["kind"], refused["message"])

    def __enter__(self) -> "Hearth":
        return self

    def __exit__(
        self,
        kind: Optional[type[BaseException]],
        error: Optional[BaseException],
        trace: Optional[TracebackType],
    ) -> None:
        self.close()

    def close(self) -> None:
        """Ends the connection; the daemon goes on."""
        self._is_closed = True
        self._stream.close()

    # Requests

    def subjects(self) -> list[dict[str, Any]]:
        """The subjects: ``name``, ``binary``, ``instrumented``."""
        return list(self._call({"subjects": {}})["subjects"])

    def warm(self, order: Order) -> None:
        """Has a warm process ready for runs of an order."""
        self._call({"warm": {"order": order.to_json()}})

    def run(self, order: Order, input: Optional[Input] = None, **given: Any) -> Run:
        """Runs once. ``given``: ``stdin``, ``arguments``, ``environment``, ``name``, ``send_files``,
        ``hides_program``, ``observe``."""
        answer = self._call({"run": {"order": order.to_json(), "input": _input(input, given)}})
        return Run.from_json(answer["run"])

    def batch(self, order: Order, inputs: Iterable[Input]) -> Iterator[Run]:
        """Runs on many inputs, and yields each run when it is done; ``index`` tells which it is."""
        ask = {"batch": {"order": order.to_json(), "inputs": [_input(item, {}) for item in inputs]}}
        for answer in self._call_each(ask):
            if "run" in answer:
                yield Run.from_json(answer["run"])

    def spectrum(self, run: RunRef, level: str = "lines", counts: bool = False) -> Coverage:
        """What a run executed: ``lines``, ``functions`` or ``files``."""
        ask = {"spectrum": {"run": run_to_json(run), "level": level, "counts": counts}}
        return Coverage.from_json(self._call(ask)["coverage"])

    def delta(self, run: RunRef, against: RunRef, level: str = "lines", counts: bool = False) -> Coverage:
        """Where a run differs from another one, or from :data:`BASELINE`."""
        ask = {
            "delta": {
                "run": run_to_json(run),
                "against": run_to_json(against),
                "level": level,
                "counts": counts,
            }
        }
        return Coverage.from_json(self._call(ask)["coverage"])

    def distance(self, run: RunRef, against: RunRef, measure: str = "jaccard_lines") -> float:
        """``jaccard_lines``, ``jaccard_files`` or ``locseq`` (a similarity: passing run first)."""
        ask = {"distance": {"run": run_to_json(run), "against": run_to_json(against), "measure": measure}}
        return float(self._call(ask)["distance"]["distance"])

    def quality(self, failing: RunRef, passing: Sequence[RunRef], alpha: float = 0.8) -> Quality:
        """How good a set of passing runs is."""
        runs = [run_to_json(run) for run in passing]
        ask = {"quality": {"failing": run_to_json(failing), "passing": runs, "alpha": alpha}}
        return Quality(**self._call(ask)["quality"])

    def rank(
        self,
        failing: Sequence[RunRef],
        passing: Sequence[RunRef],
        level: str = "files",
        formula: str = "ochiai",
        aggregation: str = "mean",
        limit: int = 0,
        counts: bool = False,
        innocent: Sequence[RunRef] = (),
        without: Sequence[str] = (),
    ) -> list[Suspect]:
        """What is suspicious, the most suspicious first; nothing that an ``innocent`` run executed is.

        Sources whose names contain a text of ``without`` are left out; with ``^`` before it, it must be at the beginning.
        """
        ask = {
            "rank": {
                "failing": [run_to_json(run) for run in failing],
                "passing": [run_to_json(run) for run in passing],
                "innocent": [run_to_json(run) for run in innocent],
                "formula": formula,
                "aggregation": aggregation,
                "counts": counts,
                "level": level,
                "limit": limit,
                "without": list(without),
            }
        }
        return [Suspect(**item) for item in self._call(ask)["ranking"]]

    def name(self, run: RunRef, name: str) -> None:
        """Gives a run a name; it is then kept until it is forgotten."""
        self._call({"name": {"run": run_to_json(run), "name": name}})

    def forget(self, runs: Sequence[RunRef] = ()) -> None:
        """Forgets runs; without any, all that have no name."""
        self._call({"forget": {"runs": [run_to_json(run) for run in runs]}})

    def runs(self) -> list[dict[str, Any]]:
        """The runs that are kept."""
        return list(self._call({"runs": {}})["runs"])

    def status(self) -> Status:
        """How the daemon is."""
        return Status.from_json(self._call({"status": {}})["status"])

    def stop(self) -> None:
        """Ends the daemon."""
        self._call({"stop": {}})

    # Frames

    def _call(self, ask: Mapping[str, Any]) -> Any:
        answers = list(self._call_each(ask))
        return answers[-1]

    def _call_each(self, ask: Mapping[str, Any]) -> Iterator[Any]:
        self._last_id += 1
        number = self._last_id
        self._send({"id": number, "ask": ask})
        self._early[number] = []
        failure: Optional[HearthError] = None
        is_last = False
        try:
            while not is_last:
                reply = self._next_reply(number)
                is_last = reply["last"]
                body = reply["body"]
                if "failed" in body:
                    failure = failure or self._failure(body["failed"])
                else:
                    yield body["done"]
        finally:
            del self._early[number]
            if not is_last:
                self._left.add(number)
        if failure is not None:
            raise failure

    def _next_reply(self, number: int) -> Any:
        """The next reply to a request; those to others are kept for them."""
        while not self._early[number]:
            reply = self._receive()
            if reply["id"] in self._early:
                self._early[reply["id"]].append(reply)
            elif reply["id"] == 0:
                raise self._failure(reply["body"]["failed"])
            elif reply["id"] not in self._left:
                raise HearthError(f"the daemon answered {reply['id']}, which was not asked")
            elif reply["last"]:
                self._left.discard(reply["id"])
        return self._early[number].pop(0)

    def _failure(self, reason: Mapping[str, str]) -> HearthError:
        if reason["kind"] == "stopping":
            return self._gone(reason["message"])
        return Failure(reason["kind"], reason["message"])

    def _gone(self, cause: str) -> DaemonGone:
        path = os.path.join(self._directory, "daemon.")
        return DaemonGone(
            f"the daemon at {path}sock has ended: {cause}; connect again, which starts another one "
            f"({path}log has what it said last)"
        )

    def _send(self, message: Mapping[str, Any]) -> None:
        payload = json.dumps(message).encode("utf-8")
        if len(payload) > _FRAME_LIMIT:
            raise HearthError("the request is too long for a frame")
        if self._is_closed:
            raise HearthError("this connection was closed; connect again")
        try:
            self._stream.sendall(struct.pack("<I", len(payload)) + payload)
        except OSError as error:
            raise self._gone(str(error)) from error

    def _receive(self) -> Any:
        (length,) = struct.unpack("<I", self._read(4))
        if length > _FRAME_LIMIT:
            raise HearthError("a frame that is too long")
        return json.loads(self._read(length))

    def _read(self, count: int) -> bytes:
        parts = bytearray()
        while len(parts) < count:
            try:
                part = self._stream.recv(min(count - len(parts), 1 << 20))
            except OSError as error:
                raise self._gone(str(error)) from error
            if not part:
                raise self._gone("it closed the connection")
            parts += part
        return bytes(parts)


def _input(given: Optional[Input], more: Mapping[str, Any]) -> dict[str, Any]:
    all_given: dict[str, Any] = dict(given) if isinstance(given, Mapping) else {"input": given}
    all_given.update(more)
    for name in ("input", "stdin"):
        if all_given.get(name) is not None:
            all_given[name] = bytes_to_json(all_given[name])
    return {name: value for name, value in all_given.items() if value is not None}
