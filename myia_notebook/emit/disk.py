"""The disk cache: a directory of files, each machine code under a key that says what it was made from.

    open_places()  →  the user's own place, and a shared one that is only read
    Place.get(key) →  the content, or None           whatever is wrong with the file, the directory or the disk means None
    Place.put(key, content)                          in full or not at all, and never an error

A file is [MAGIC, key, SHA-256 of the content, content], so that a broken, cut or foreign file is seen; nothing in it is run by reading it. Only files and
directories that belong to the user (or to the system's administrator) and that nobody else can write are trusted, links are not followed, and every
step goes through the directory that was checked. A file is written under another name and renamed. The place is kept under its limit: the files
that were not used for the longest time go.

    MYIA_NOTEBOOK_CACHE          where it is, in place of the user's cache directory; `off` for none
    MYIA_NOTEBOOK_CACHE_SIZE     its limit in MiB (256)
    MYIA_NOTEBOOK_SHARED_CACHE   a directory that somebody filled for many users
"""
from __future__ import annotations

import contextlib
import hashlib
import os
import secrets
import stat
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

MAGIC = b"myia-notebook object 1\n"
LIMIT = 256 << 20
STALE_SECONDS = 3600.0
"""A temporary file this old was left by a process that died; a file's time of use is written down this often."""
TRIM_EVERY = 64
_OFF = ("", "0", "off", "no", "none", "false")
_IS_POSIX = os.open in os.supports_dir_fd and os.rename in os.supports_dir_fd and hasattr(os, "O_NOFOLLOW")
_made = 0


@dataclass(frozen=True, slots=True)
class Place:
    """One directory. `is_shared`: read only, and it may belong to the administrator."""

    path: str
    limit: int = LIMIT
    is_shared: bool = False

    def get(self, key: str) -> bytes | None:
        try:
            with self._directory() as directory:
                found = _read(directory, key, self._owners())
                if found is not None and not self.is_shared:
                    _note_use(directory, key)
                return found
        except (OSError, ValueError):
            return None

    def put(self, key: str, content: bytes) -> None:
        global _made
        if self.is_shared or 8 * len(content) > self.limit:
            return
        try:
            _make(self.path)
            with self._directory() as directory:
                _write(directory, key, content)
                if _made % TRIM_EVERY == 0:
                    _trim(directory, self.limit)
                _made += 1
        except (OSError, ValueError):
            return

    def _owners(self) -> tuple[int, ...]:
        return (os.geteuid(), 0) if self.is_shared else (os.geteuid(),)

    @contextlib.contextmanager
    def _directory(self) -> Iterator[int]:
        """The directory, open, once it is known to be one that only its owner writes."""
        directory = os.open(self.path, os.O_RDONLY | os.O_DIRECTORY | (0 if self.is_shared else os.O_NOFOLLOW))
        try:
            status = os.fstat(directory)
            if status.st_uid not in self._owners() or status.st_mode & 0o022:
                raise OSError("another user can write here")
            if status.st_mode & 0o077 and not self.is_shared:
                os.fchmod(directory, 0o700)
            yield directory
        finally:
            os.close(directory)


def open_places() -> tuple[Place, ...]:
    """Where to look, in order; none where the system cannot be asked who owns a file."""
    if not _IS_POSIX:
        return ()
    places = []
    own = os.environ.get("MYIA_NOTEBOOK_CACHE")
    if own is None or own.strip().lower() not in _OFF:
        path = os.path.expanduser(own) if own else _user_directory()
        if path is not None:
            places.append(Place(path, _limit()))
    shared = os.environ.get("MYIA_NOTEBOOK_SHARED_CACHE")
    if shared:
        places.append(Place(os.path.expanduser(shared), is_shared=True))
    return tuple(places)


def _user_directory() -> str | None:
    """The user's cache directory; None for a user without a home."""
    given = os.environ.get("XDG_CACHE_HOME")
    if given and os.path.isabs(given):
        return os.path.join(given, "myia_notebook")
    try:
        home = Path.home()
    except RuntimeError:
        return None
    return str(home.joinpath(*(("Library", "Caches") if sys.platform == "darwin" else (".cache",)), "myia_notebook"))


def _limit() -> int:
    try:
        return max(int(float(os.environ.get("MYIA_NOTEBOOK_CACHE_SIZE", "")) * (1 << 20)), 0)
    except (ValueError, OverflowError):
        return LIMIT


def _make(path: str) -> None:
    with contextlib.suppress(FileExistsError):
        os.makedirs(os.path.dirname(path) or ".", 0o700, exist_ok=True)
        os.mkdir(path, 0o700)


def _read(directory: int, key: str, owners: tuple[int, ...]) -> bytes | None:
    file = os.open(key, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK, dir_fd=directory)
    with open(file, "rb") as stream:
        status = os.fstat(file)
        if not stat.S_ISREG(status.st_mode) or status.st_uid not in owners or status.st_mode & 0o022:
            return None
        whole = stream.read()
    head = _head(key, b"")
    content = whole[len(head):]
    return content if whole[:len(head)] == _head(key, content) else None


def _head(key: str, content: bytes) -> bytes:
    return MAGIC + key.encode() + b"\n" + hashlib.sha256(content).digest()


def _note_use(directory: int, key: str) -> None:
    """The time of last use is the file's time of change."""
    with contextlib.suppress(OSError):
        if time.time() - os.stat(key, dir_fd=directory, follow_symlinks=False).st_mtime > STALE_SECONDS:
            os.utime(key, dir_fd=directory, follow_symlinks=False)


def _write(directory: int, key: str, content: bytes) -> None:
    name = f".{os.getpid()}-{secrets.token_hex(8)}"
    file = os.open(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600, dir_fd=directory)
    try:
        with open(file, "wb") as stream:
            stream.write(_head(key, content) + content)
        os.replace(name, key, src_dir_fd=directory, dst_dir_fd=directory)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(name, dir_fd=directory)
        raise


def _trim(directory: int, limit: int) -> None:
    """Removes what was left half-written, and the oldest files beyond four fifths of the limit once that is passed."""
    now, files = time.time(), []
    with os.scandir(directory) as entries:
        for entry in entries:
            with contextlib.suppress(OSError):
                status = entry.stat(follow_symlinks=False)
                if entry.name.startswith(".") and now - status.st_mtime > STALE_SECONDS:
                    os.unlink(entry.name, dir_fd=directory)
                elif stat.S_ISREG(status.st_mode):
                    files.append((status.st_mtime, entry.name, status.st_size))
    total = sum(size for _, _, size in files)
    if total <= limit:
        return
    for _, name, size in sorted(files):
        if total <= limit * 4 // 5:
            return
        with contextlib.suppress(OSError):
            os.unlink(name, dir_fd=directory)
        total -= size


__all__ = ["Place", "open_places"]
