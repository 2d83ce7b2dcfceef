"""Twice the number, after whatever else the event asks for: to be held, to take time, to have a long score."""

import ctypes
import os
import signal
import time
from pathlib import Path

import torch


class Obedient:
    """`hold` names a file for as long as which the batch stays in the model; `<hold>.reached` tells that it is there.

    `hang` names a file that the first to meet the event makes, never to come back; it holds the process ids of its
    parent and of itself. `sleep_s` lets other threads run, `python_s` competes with them, `native_s` keeps the
    interpreter's lock.
    `die` ends the process where it stands: by "exit", or by "fault" as a crash in native code does; `raises` is the
    text of an error.
    """

    def __init__(self, package_dir, device):
        self.letters = []

    def prepare(self, events):
        for event in events:
            self.obey(event)
        self.letters = [event.letters for event in events]
        return torch.tensor([event.x for event in events], dtype=torch.float32)

    def forward(self, inputs):
        return inputs * 2

    def finish(self, outputs):
        return [score if n is None else "a" * n for score, n in zip(outputs.tolist(), self.letters, strict=True)]

    def obey(self, event):
        if event.die == "exit":
            os._exit(1)
        if event.die == "fault":
            signal.raise_signal(signal.SIGSEGV)
        if event.raises:
            raise RuntimeError(event.raises)
        if event.hold:
            with Path(f"{event.hold}.reached").open("a") as reached:
                reached.write("again\n")
            while Path(event.hold).exists():
                time.sleep(0.005)
        if event.hang:
            hang_once(Path(event.hang))
        if event.sleep_s:
            time.sleep(event.sleep_s)
        if event.native_s:
            ctypes.PyDLL(None).usleep(int(event.native_s * 1_000_000))
        if event.python_s:
            until_s = time.monotonic() + event.python_s
            while time.monotonic() < until_s:
                pass


def hang_once(file):
    try:
        os.link(own_note(file), file)  # it is there with all that it says, or not at all
    except FileExistsError:
        return
    while True:
        time.sleep(1)


def own_note(file):
    note = file.with_name(f"{file.name}.{os.getpid()}")
    note.write_text(f"{os.getppid()} {os.getpid()}")
    return note
