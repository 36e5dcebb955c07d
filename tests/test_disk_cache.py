"""The disk cache: machine code comes back in another process, whatever lies on the disk, and whoever put it there."""
from __future__ import annotations

import os
import resource
import stat
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import numpy as np
import pytest

from myia_notebook import grad, myia
from myia_notebook.emit import disk, jit
from myia_notebook.emit.disk import Place, open_places

KEY = "0" * 63 + "a"
CONTENT = bytes(range(256)) * 20


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(str(tmp_path / "cache"))


@pytest.fixture
def fresh(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache, for the disk and for memory."""
    monkeypatch.setenv("MYIA_NOTEBOOK_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("MYIA_NOTEBOOK_SHARED_CACHE", raising=False)
    monkeypatch.setattr(jit, "_recent", type(jit._recent)())
    return tmp_path / "cache"


def files(directory: Path) -> list[str]:
    return sorted(p.name for p in directory.iterdir()) if directory.exists() else []


def written(directory: Path, count: int) -> list[str]:
    """The files, once there are `count`: they are written after the program was answered."""
    for _ in range(200):
        if len(files(directory)) >= count and not any(name.startswith(".") for name in files(directory)):
            break
        time.sleep(0.02)
    return files(directory)


# -- the place

def test_what_is_put_is_got_and_is_private(place: Place) -> None:
    assert place.get(KEY) is None
    place.put(KEY, CONTENT)
    assert place.get(KEY) == CONTENT
    assert stat.S_IMODE(os.stat(place.path).st_mode) == 0o700
    assert stat.S_IMODE(os.stat(Path(place.path, KEY)).st_mode) == 0o600
    assert files(Path(place.path)) == [KEY]


@pytest.mark.parametrize("spoil", [lambda b: b"", lambda b: b[:10], lambda b: b[:-1], lambda b: b + b"x", lambda b: b"another" + b, lambda b: b[:60] + b"\0" + b[61:],
                                   lambda b: b[:100] + b"\0" + b[101:], lambda b: b[:3000] + b"\1" + b[3001:], lambda b: b[:-1] + bytes([b[-1] ^ 1])])
def test_broken_files_are_ignored_and_rewritten(place: Place, spoil) -> None:
    place.put(KEY, CONTENT)
    file = Path(place.path, KEY)
    broken = spoil(file.read_bytes())
    assert broken != file.read_bytes()
    file.write_bytes(broken)
    assert place.get(KEY) is None
    place.put(KEY, CONTENT)
    assert place.get(KEY) == CONTENT


def test_the_code_of_another_program_is_refused(place: Place) -> None:
    place.put(KEY, CONTENT)
    other = "f" * 64
    Path(place.path, other).write_bytes(Path(place.path, KEY).read_bytes())
    os.chmod(Path(place.path, other), 0o600)
    assert place.get(other) is None


def test_links_are_not_followed(place: Place, tmp_path: Path) -> None:
    place.put(KEY, CONTENT)
    target = tmp_path / "elsewhere"
    Path(place.path, KEY).rename(target)
    Path(place.path, KEY).symlink_to(target)
    assert place.get(KEY) is None
    place.put(KEY, CONTENT)  # replaces the link, not its target
    assert place.get(KEY) == CONTENT and not Path(place.path, KEY).is_symlink()
    alias = tmp_path / "alias"
    alias.symlink_to(place.path)
    linked = Place(str(alias))
    assert linked.get(KEY) is None
    linked.put("b" * 64, CONTENT)
    assert files(Path(place.path)) == [KEY]


def test_a_pipe_in_the_place_of_a_file_does_not_hang(place: Place) -> None:
    place.put("b" * 64, CONTENT)
    os.mkfifo(Path(place.path, KEY), 0o600)
    assert place.get(KEY) is None


def test_what_others_may_write_is_not_trusted(place: Place) -> None:
    place.put(KEY, CONTENT)
    os.chmod(Path(place.path, KEY), 0o620)
    assert place.get(KEY) is None
    os.chmod(Path(place.path, KEY), 0o600)
    assert place.get(KEY) == CONTENT
    os.chmod(place.path, 0o770)
    assert place.get(KEY) is None
    place.put("b" * 64, CONTENT)
    assert files(Path(place.path)) == [KEY]
    os.chmod(place.path, 0o755)
    assert place.get(KEY) == CONTENT
    assert stat.S_IMODE(os.stat(place.path).st_mode) == 0o700


@pytest.mark.skipif(os.geteuid() != 0, reason="only the administrator can give files away")
def test_what_belongs_to_another_user_is_not_trusted(place: Place) -> None:
    place.put(KEY, CONTENT)
    os.chown(Path(place.path, KEY), 12345, 12345)
    assert place.get(KEY) is None
    os.chown(Path(place.path, KEY), 0, 0)
    os.chown(place.path, 12345, 12345)
    assert place.get(KEY) is None
    place.put("b" * 64, CONTENT)
    assert files(Path(place.path)) == [KEY]


def test_a_full_disk_only_means_no_cache(place: Place) -> None:
    place.put(KEY, CONTENT)
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, before[1]))
    try:
        place.put("b" * 64, CONTENT)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert files(Path(place.path)) == [KEY]


def test_places_that_cannot_be_made(tmp_path: Path) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("")
    for path in (blocked, blocked / "below", Path("/proc/none/cache"), tmp_path / ("n" * 300)):
        Place(str(path)).put(KEY, CONTENT)
        assert Place(str(path)).get(KEY) is None
    assert blocked.read_text() == ""


def test_a_read_only_directory_is_read(place: Place) -> None:
    place.put(KEY, CONTENT)
    os.chmod(place.path, 0o500)
    try:
        assert place.get(KEY) == CONTENT
        place.put("b" * 64, CONTENT)
        assert os.geteuid() == 0 or files(Path(place.path)) == [KEY]
    finally:
        os.chmod(place.path, 0o700)


def test_the_least_recently_used_go(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(disk, "TRIM_EVERY", 1)
    place = Place(str(tmp_path / "cache"), limit=20 * len(CONTENT))
    keys = [f"{i:064x}" for i in range(40)]
    for i, key in enumerate(keys):
        place.put(key, CONTENT)
        os.utime(Path(place.path, key), (1e9 + 10_000 * i,) * 2)
        assert place.get(keys[0]) == CONTENT  # used all the time
        assert sum(p.stat().st_size for p in Path(place.path).iterdir()) <= place.limit
    kept = files(Path(place.path))
    assert keys[0] in kept and keys[1] not in kept and keys[-1] in kept
    place.put("b" * 64, b"x" * (place.limit // 2))
    assert "b" * 64 not in files(Path(place.path))  # one program does not take it all


def test_what_a_dead_process_left_is_removed(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(disk, "TRIM_EVERY", 1)
    place.put(KEY, CONTENT)
    old, young = Path(place.path, ".123-dead"), Path(place.path, ".124-alive")
    for left in (old, young):
        left.write_bytes(CONTENT)
    os.utime(old, (time.time() - 7200,) * 2)
    place.put("b" * 64, CONTENT)
    assert files(Path(place.path)) == [".124-alive", KEY, "b" * 64]


def test_settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("MYIA_NOTEBOOK_CACHE", raising=False)
    monkeypatch.delenv("MYIA_NOTEBOOK_SHARED_CACHE", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert open_places() == (Place(str(tmp_path / "myia_notebook")),)
    monkeypatch.setenv("XDG_CACHE_HOME", "not/absolute")
    monkeypatch.setenv("HOME", str(tmp_path))
    if sys.platform != "darwin":
        assert open_places() == (Place(str(tmp_path / ".cache" / "myia_notebook")),)
    monkeypatch.setenv("MYIA_NOTEBOOK_CACHE", str(tmp_path / "x"))
    monkeypatch.setenv("MYIA_NOTEBOOK_CACHE_SIZE", "3")
    assert open_places() == (Place(str(tmp_path / "x"), 3 << 20),)
    monkeypatch.setenv("MYIA_NOTEBOOK_CACHE_SIZE", "many")
    monkeypatch.setenv("MYIA_NOTEBOOK_SHARED_CACHE", "/srv/shared")
    assert open_places() == (Place(str(tmp_path / "x")), Place("/srv/shared", is_shared=True))
    for word in ("off", "0", "no", ""):
        monkeypatch.setenv("MYIA_NOTEBOOK_CACHE", word)
        assert open_places() == (Place("/srv/shared", is_shared=True),)


def test_a_shared_place_is_read_and_never_written(tmp_path: Path) -> None:
    own = Place(str(tmp_path / "shared"))
    own.put(KEY, CONTENT)
    os.chmod(own.path, 0o755)
    os.chmod(Path(own.path, KEY), 0o644)
    shared = Place(own.path, is_shared=True)
    assert shared.get(KEY) == CONTENT
    shared.put("b" * 64, CONTENT)
    assert files(Path(own.path)) == [KEY]
    assert stat.S_IMODE(os.stat(own.path).st_mode) == 0o755
    os.chmod(own.path, 0o777)
    assert shared.get(KEY) is None


def test_eight_processes_at_once(tmp_path: Path) -> None:
    """They write and read the same keys, in a place so small that files go all the time: a content is whole and the right one, or it is not there."""
    script = textwrap.dedent("""
        import random, sys
        from myia_notebook.emit import disk
        disk.TRIM_EVERY = 3
        place, seed = disk.Place(sys.argv[1], limit=200_000), int(sys.argv[2])
        pick, found = random.Random(seed), 0
        for _ in range(400):
            i = pick.randrange(30)
            key, content = f"{i:064x}", bytes([i]) * (4000 + 100 * i)
            got = place.get(key)
            assert got is None or got == content, i
            found += got is not None
            if got is None or pick.random() < 0.2:
                place.put(key, content)
        print(found)
    """)
    workers = [subprocess.Popen([sys.executable, "-c", script, str(tmp_path / "cache"), str(i)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) for i in range(8)]
    for worker in workers:
        out, problem = worker.communicate(timeout=120)
        assert worker.returncode == 0, problem
        assert int(out) > 100
    assert not [name for name in files(tmp_path / "cache") if name.startswith(".")]


# -- what is in it

def define(text: str):
    from myia_notebook import compile_source
    return compile_source(textwrap.dedent(text))["f"]


def test_a_comment_hits_and_a_constant_that_matters_misses(fresh: Path) -> None:
    first = "def f(x):\n    y = x * 3.0\n    return y + 1.0"
    assert define(first)(2.0) == 7.0
    names = written(fresh, 1)
    assert len(names) == 1
    jit._recent.clear()
    assert define("# another comment\n" + first.replace("\n    y", "\n\n    # the same\n    y"))(2.0) == 7.0
    assert define(first.replace("y", "renamed"))(2.0) in (7.0,)
    time.sleep(0.1)
    before = set(files(fresh))
    assert names[0] in before
    assert define(first.replace("3.0", "4.0"))(2.0) == 9.0
    assert len(written(fresh, len(before) + 1)) == len(before) + 1
    assert define(first)(2) == 7.0  # another type
    assert len(written(fresh, len(before) + 2)) == len(before) + 2


def test_the_values_of_constant_arrays_are_not_in_the_code(fresh: Path) -> None:
    first, second = np.array([1.0, 2.0, 3.0]), np.array([10.0, 20.0, 30.0])
    f, g = myia(lambda x: np.sum(x * first)), myia(lambda x: np.sum(x * second))
    x = np.ones(3)
    assert f(x) == 6.0
    names = written(fresh, 1)
    assert (g(x), f(x)) == (60.0, 6.0)
    time.sleep(0.1)
    assert files(fresh) == names


PROGRAM = '''
import sys
import numpy as np
from myia_notebook import grad, myia
from myia_notebook.emit import jit
made = 0
compile_ = jit._compile
def counted(text):
    global made
    made += 1
    return compile_(text)
jit._compile = counted
W = np.arange(120.0).reshape(10, 12) / 100
XS = [1.0, 2.5, -3.0]
def power(x, n):
    return 1.0 if n == 0 else x * power(x, n - 1)
def layer(x):
    return np.sum(np.tanh(np.tanh(x @ W) @ W.T) @ W)
def smallest(x):
    return np.sort(x)[0]
def total(x):
    s = 0.0
    for v in XS:
        s += v * x
    return s
def says(x):
    print(f"x is {x}")
    assert x > 0, f"no: {x}"
    return x * 2.0
X = np.linspace(-1, 1, 200).reshape(20, 10)
print(repr(grad(power)(1.5, 4)), repr(float(myia(layer)(X))), repr(float(grad(layer)(X).sum())), repr(float(myia(smallest)(X[0]))), repr(myia(total)(2.0)))
f = myia(says)
print(f(2.0))
try:
    f(-1.0)
except AssertionError as problem:
    print(problem)
print(repr(myia(lambda x, y: (x // y, [x, y]))(7, 2)))
print("made", made, file=sys.stderr)
'''


def run_program(path: Path, **environment: str) -> tuple[str, int]:
    done = subprocess.run([sys.executable, str(path)], capture_output=True, text=True, timeout=120, env=os.environ | environment)
    assert done.returncode == 0, done.stderr
    return done.stdout, int(done.stderr.rpartition("made ")[2])


def test_another_process_makes_nothing_again(tmp_path: Path) -> None:
    """Objects, call-backs, constants and BLAS lie elsewhere there: the code finds them all the same. Names are hashed differently there too."""
    path = tmp_path / "program.py"
    path.write_text(PROGRAM)
    place = {"MYIA_NOTEBOOK_CACHE": str(tmp_path / "cache"), "MYIA_NOTEBOOK_SHARED_CACHE": ""}
    first, made = run_program(path, **place, PYTHONHASHSEED="1")
    assert made >= 7
    import math
    assert first.splitlines()[0].split()[0] == repr(4 * 1.5**3)
    x, w = np.linspace(-1, 1, 200).reshape(20, 10), np.arange(120.0).reshape(10, 12) / 100
    assert math.isclose(float(first.split()[1]), np.sum(np.tanh(np.tanh(x @ w) @ w.T) @ w), rel_tol=1e-12)
    for seed in ("2", "3"):
        assert run_program(path, **place, PYTHONHASHSEED=seed) == (first, 0)
    os.chmod(tmp_path / "cache", 0o755)
    for file in (tmp_path / "cache").iterdir():
        os.chmod(file, 0o644)
    shared = {"MYIA_NOTEBOOK_CACHE": "off", "MYIA_NOTEBOOK_SHARED_CACHE": str(tmp_path / "cache")}
    assert run_program(path, **shared) == (first, 0)
    for file in (tmp_path / "cache").iterdir():
        file.write_bytes(file.read_bytes()[:-100])
    assert run_program(path, **place) == (first, made)
    assert run_program(path, **place) == (first, 0)
    assert run_program(path, MYIA_NOTEBOOK_CACHE="off", MYIA_NOTEBOOK_SHARED_CACHE="") == (first, made)


def test_code_of_another_compiler_or_processor_is_not_taken(fresh: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    key = jit.key_of("text")
    monkeypatch.setattr(jit, "_compiler", lambda: "another")
    assert jit.key_of("text") != key


def test_gradients_come_from_the_disk_too(fresh: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source = "def h(x):\n    y = 1.0\n    while y < x:\n        y = y * x\n    return y\ndef f(x):\n    return grad(h)(x)"
    assert define(source)(3.0) == 1.0
    written(fresh, 1)
    jit._recent.clear()
    monkeypatch.setattr(jit, "_compile", lambda text: pytest.fail("made again"))
    assert define(source)(3.0) == 1.0
