# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Recordings written while something goes on that must not wait for it."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

from robot_dynamics.app.node_process import with_this_package
from robot_dynamics.app.output_files import require_parent
from robot_dynamics.app.recording import Recording, RecordingError
from robot_dynamics.app.recording_files import NPZ, require_suffix

_MODULE = "robot_dynamics.app.recording_files"


class BackgroundSaving:
    """Writes a recording beside a running controller, and keeps what went wrong for later.

    A bag is made by another process: thousands of messages in this one would hold up the
    interpreter that controls.

    Attributes:
        failure: Why the recording could not be written; empty if nothing went wrong so far.

    Args:
        path: The file, .npz or .mcap; empty for none.

    Raises:
        RobotDynamicsError: If the folder is missing, or the suffix is not known.
    """

    def __init__(self, path: str | Path) -> None:
        self._path: Path | None = None
        if str(path):
            self._path = require_suffix(path)
            require_parent(self._path)
        self._thread: threading.Thread | None = None
        self.failure = ""

    @property
    def busy(self) -> bool:
        """Whether it is being written."""
        return self._thread is not None and self._thread.is_alive()

    def start(self, make: Callable[[], Recording]) -> None:
        """Begin to write; after what is being written already.

        Args:
            make: Returns the recording, which takes a while as well; called in a thread.
        """
        self.wait()
        if self._path is not None:
            self._thread = threading.Thread(target=self._save, args=(make, self._path))
            self._thread.start()

    def wait(self) -> None:
        """Return when everything is written, or has failed."""
        if self._thread is not None:
            self._thread.join()
            self._thread = None

    def _save(self, make: Callable[[], Recording], path: Path) -> None:
        try:
            recording = make()
            if path.suffix == NPZ:
                recording.save(path)
            else:
                _save_elsewhere(recording, path)
            self.failure = ""
        except (RecordingError, OSError, MemoryError, ValueError) as error:
            reason = " ".join(str(error).split()) or type(error).__name__
            self.failure = reason if isinstance(error, RecordingError) else f"{path}: {reason}."


def _save_elsewhere(recording: Recording, path: Path) -> None:
    """Have another process write the recording.

    Raises:
        RecordingError: If it fails.
    """
    writer = subprocess.Popen(
        [sys.executable, "-m", _MODULE, str(path.absolute())],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        env=with_this_package(os.environ),
        start_new_session=True,  # Ctrl-C is for the controller
    )
    assert writer.stdin is not None
    assert writer.stderr is not None
    with writer.stderr:
        try:
            with writer.stdin as pipe:
                recording.dump(pipe)
        except BrokenPipeError:
            pass  # it says why
        except BaseException:
            writer.kill()
            writer.wait()
            raise
        words = writer.stderr.read()
        writer.wait()
    if writer.returncode != 0:
        lines = words.decode(errors="replace").strip().splitlines()
        raise RecordingError(lines[-1] if lines else f"{path}: its writer ended early.")
