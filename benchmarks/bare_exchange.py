# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Two bare programs that do what simulator and controller do to a machine, and nothing else.

One sends a datagram in every period and computes a while, the other computes a while and answers.
Answers that have not come when the next period begins are what the machine has taken: to its host,
to interrupts, to other processes.
"""

from __future__ import annotations

import multiprocessing
import os
import socket
import time
from typing import Any

_END = b"end"


def answered(seconds: float, period: float, here: float, there: float, priority: int = 0) -> float:
    """Return the part of the periods in which an answer came before the next one.

    Periods that did not take place count as lost.

    Args:
        seconds: How long it is tried [s].
        period: Length of a period [s].
        here: What the one who asks computes after it has asked [s].
        there: What the other one computes before it answers [s].
        priority: Real-time priority of both; 0 for none.
    """
    context = multiprocessing.get_context("spawn")
    receiver, sender = context.Pipe(duplex=False)
    other = context.Process(target=_answer, args=(sender, there, priority))
    other.start()
    try:
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as line:
            line.bind(("127.0.0.1", 0))
            line.connect(("127.0.0.1", receiver.recv()))
            line.setblocking(False)
            _prefer(priority)
            found = _ask(line, seconds, period, here)
            line.send(_END)
    finally:
        if priority:
            os.sched_setscheduler(0, os.SCHED_OTHER, os.sched_param(0))
        other.join(1.0)
        other.terminate()
    return found


def _ask(line: socket.socket, seconds: float, period: float, here: float) -> float:
    count, prompt, asked = round(seconds / period), 0, 0
    due = time.monotonic() + period
    end = due + seconds
    while due < end:
        time.sleep(max(0.0, due - time.monotonic()))
        number, answered_at = _newest(line)
        prompt += asked > 0 and number == asked and answered_at <= due
        now = time.monotonic()
        asked += 1
        line.send(b"%d" % asked)
        _compute(here)
        due = max(due, now - period) + period
    return prompt / count


def _newest(line: socket.socket) -> tuple[int, float]:
    """Return the number of the newest answer, and when it was sent: who asks may wake up late."""
    newest = 0, 0.0
    try:
        while True:
            number, answered_at = line.recv(100).split()
            newest = int(number), float(answered_at)
    except BlockingIOError:
        return newest


def _answer(sender: Any, there: float, priority: int) -> None:
    _prefer(priority)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as line:
        line.bind(("127.0.0.1", 0))
        sender.send(line.getsockname()[1])
        while True:
            message, who = line.recvfrom(100)
            if message == _END:
                return
            _compute(there)
            line.sendto(b"%s %.9f" % (message, time.monotonic()), who)


def _prefer(priority: int) -> None:
    if priority:
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(priority))


def _compute(seconds: float) -> None:
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        pass
