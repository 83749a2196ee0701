"""Writing so that a kill, a full disk or a second run never loses what the learner has."""

import contextlib
import os
import shutil
import tempfile
import time
from pathlib import Path


class Trouble(Exception):
    """Something that the learner must hear in one message: its id and what it speaks of."""

    def __init__(self, message, **found):
        self.message, self.found = message, found
        super().__init__(f"{message}: {found}")


def shown(path):
    """The path as a person in this folder would type it."""
    try:
        return os.path.relpath(path).replace("\\", "/")
    except ValueError:  # another drive
        return str(path)


@contextlib.contextmanager
def writing(path):
    """Turn what a disk can answer into one message."""
    try:
        yield
    except OSError as error:
        reason = error.strerror or type(error).__name__
        raise Trouble("disk", path=shown(path), reason=reason) from error


def write(path, data):
    """Replace the file in one move: readers and a kill see the old text or the new, never half."""
    path = Path(path)
    data = data.encode("utf-8") if isinstance(data, str) else data
    with writing(path):
        number, part = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.", suffix=".part")
        try:
            with os.fdopen(number, "wb") as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
            os.chmod(part, 0o666 & ~_mask())
            _replace(part, path)
        except BaseException:
            Path(part).unlink(missing_ok=True)
            raise


def _replace(part, path):
    """os.replace, patient with a system that refuses while somebody reads the file."""
    for _ in range(20):
        try:
            return os.replace(part, path)
        except PermissionError:
            if os.name != "nt":
                raise
            time.sleep(0.05)
    return os.replace(part, path)


def _mask():
    mask = os.umask(0)
    os.umask(mask)
    return mask


def new_folder(path, texts):
    """Make a folder with files in it, whole or not at all; True unless it was there before."""
    path = Path(path)
    with writing(path):
        part = Path(tempfile.mkdtemp(dir=path.parent, prefix=f".{path.name}.", suffix=".part"))
        try:
            os.chmod(part, 0o777 & ~_mask())
            for name, text in texts.items():
                (part / name).write_text(text, encoding="utf-8", newline="\n")
            if path.exists():
                return False
            os.rename(part, path)
            return True
        finally:
            shutil.rmtree(part, ignore_errors=True)


def temporary():
    """A folder that is removed afterwards."""
    return tempfile.TemporaryDirectory()


def sweep(*folders):
    """Remove what a killed run left half written. Call it under the lock."""
    for folder in map(Path, folders):
        for part in folder.glob(".*.part"):
            if part.is_dir():
                shutil.rmtree(part, ignore_errors=True)
            else:
                part.unlink(missing_ok=True)


@contextlib.contextmanager
def lock(folder):
    """One writer at a time in this folder. The system frees the lock of a run that dies."""
    path = Path(folder) / ".lock"
    with writing(path):
        number = os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
        try:
            _lock(number)
        except BaseException:
            os.close(number)
            raise
    try:
        yield
    finally:
        os.close(number)


if os.name == "nt":
    import msvcrt

    def _lock(number):
        msvcrt.locking(number, msvcrt.LK_LOCK, 1)
else:
    import fcntl

    def _lock(number):
        fcntl.flock(number, fcntl.LOCK_EX)
