"""tilescope: predicted bytes at every memory level, and time, of attention kernels.

Keyword arguments are the command line's options with "_" for "-": predict(hardware="h200_sxm", kernel="fused_mma",
heads=16, q_len="4k", head_dim=128, tile={"q": 128, "kv": 64}). A list gives an option several times, a dict is written
as "q=128,kv=64". Bad input raises ValueError with the command line's message.
"""
import json as _json

from . import _tilescope
from ._tilescope import diagrams, gpus, kernels, schedules, workloads

__all__ = ["predict", "search", "sweep", "compare", "compare_records", "gpus", "kernels", "schedules", "diagrams",
           "workloads"]


def _text(value):
    if isinstance(value, dict):
        return ",".join(f"{key}={item}" for key, item in value.items())
    return str(value)


def _options(given):
    options = []
    for name, value in given.items():
        values = value if isinstance(value, (list, tuple)) else [value]
        options += [(name, _text(each)) for each in values if each is not None]
    return options


def _joined(given, name):
    """The option as one comma-separated text: the command line takes a list of GPUs so."""
    if isinstance(given.get(name), (list, tuple)):
        given = dict(given, **{name: ",".join(map(str, given[name]))})
    return given


def _columns(names, rows):
    """The columns as numpy arrays; as lists where numpy is missing."""
    columns = {name: [row[i] for row in rows] for i, name in enumerate(names)}
    try:
        import numpy
    except ImportError:
        return columns
    return {name: numpy.array(values) for name, values in columns.items()}


def predict(**options):
    """One point: a dict with the keys of `tilescope predict --format json`."""
    return _json.loads(_tilescope.predict(_options(options)))


def search(**options):
    """The best tiles of a point: a dict with the keys of `tilescope search --format json`."""
    return _json.loads(_tilescope.search(_options(options)))


def sweep(**options):
    """Many points: a dict of arrays, one each column of `tilescope sweep --format csv`. axis="q_len=1k:16k:x2"."""
    return _columns(*_tilescope.sweep(_options(options)))


def compare(**options):
    """GPUs x formats x kernels: a list of dicts with the keys of `tilescope compare --format json`."""
    names, rows = _tilescope.compare(_options(_joined(options, "hardware")))
    return [dict(zip(names, row)) for row in rows]


def compare_records(path):
    """Predictions beside the records of a file or folder: a dict of arrays, a row each quantity."""
    return _columns(*_tilescope.compare_records(str(path)))
