"""The same work on many things, on both cores, with everything loaded once."""

import multiprocessing
import os

_work = None  # what the forked workers do; set before they are made


def spread(work, items, workers=None):
    """Yield ``work(item)`` for every item, in order, from forked processes where there is fork.

    torch must have run on one thread so far: after a fork its other threads are gone.
    """
    global _work
    items = list(items)
    workers = min(workers or min(2, os.cpu_count() or 1), len(items))
    if workers < 2 or "fork" not in multiprocessing.get_all_start_methods():
        yield from map(work, items)
        return
    _work = work
    with multiprocessing.get_context("fork").Pool(workers) as pool:
        yield from pool.imap(_call, items)


def _call(item):
    return _work(item)
