"""A folder of changed modules laid over the reference: every known trap."""

import sys
import threading
import traceback

import pytest
import torch

from buggy import overlay

OFF = 'def causal_mask(T, device=None):\n    raise ArithmeticError("mine")\n'
SIZES = {"vocab_size": 7, "block_size": 6, "n_layer": 1, "n_head": 2, "d_model": 8}


@pytest.fixture
def folder(tmp_path):
    """A folder with the reference's attention in it."""
    return write(tmp_path, "attention", reference("attention"))


def reference(module):
    return (overlay.REFERENCE / f"{module}.py").read_text(encoding="utf-8")


def write(folder, module, source, newline="\n"):
    (folder / f"{module}.py").write_text(source, encoding="utf-8", newline=newline)
    return folder


def model(package):
    torch.manual_seed(0)
    return package.model.GPT(package.model.GPTConfig(**SIZES))


def refusal(folder):
    with pytest.raises(overlay.Refused) as caught:
        overlay.load(folder)
    return caught.value.message, caught.value.found


def test_a_changed_module_reaches_all_that_use_it(folder):
    """The reference's own modules must find the changed one, or the reference would be judged."""
    write(folder, "attention", reference("attention") + "\nMARK = 1\n")
    package = overlay.load(folder)
    assert package.attention.MARK == 1
    block = package.block.Block(package.model.GPTConfig(**SIZES))
    assert type(block.attn) is package.attention.MultiHeadAttention
    assert package.model.Block is package.block.Block
    assert package.training.next_token_loss is package.loss.next_token_loss


def test_an_unchanged_module_is_the_references(folder):
    package = overlay.load(folder)
    assert package.loss.__file__ == str(overlay.REFERENCE / "loss.py")
    assert package.attention.__file__ == str(folder.resolve() / "attention.py")


def test_two_packages_share_nothing_but_tensors(folder):
    """Classes and configs are each package's own; a state dict crosses."""
    one, other = overlay.load(folder), overlay.load()
    assert one.model.GPTConfig is not other.model.GPTConfig
    assert one.model.GPTConfig(**SIZES) != other.model.GPTConfig(**SIZES)
    assert one.attention.attention is not other.attention.attention
    twin = model(other)
    twin.load_state_dict(model(one).state_dict())
    idx = torch.tensor([[1, 2, 3]])
    assert torch.equal(twin(idx), model(one)(idx))


def test_an_edit_within_the_same_second_is_seen(folder, monkeypatch):
    """Python's bytecode cache knows a file by its size and second: diagonal=0 and diagonal=1."""
    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    for diagonal in (1, 0, 2, 1):
        source = reference("attention").replace("diagonal=1", f"diagonal={diagonal}")
        write(folder, "attention", source)
        visible = int((~overlay.load(folder).attention.causal_mask(5)).sum())
        assert visible == {0: 10, 1: 15, 2: 19}[diagonal]
    assert not (folder / "__pycache__").exists()


def test_first_loads_from_many_threads_agree(folder):
    """Every thread sees whole modules, and all see the same ones."""
    package, start, seen, errors = overlay.load(folder), threading.Barrier(8), [], []

    def use():
        try:
            start.wait()
            seen.append((package.model, package.attention, package.block.MultiHeadAttention))
            seen.append((package.model, package.attention, model(package).blocks[0].attn.__class__))
        except Exception as error:
            errors.append(error)

    threads = [threading.Thread(target=use) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not errors
    assert len(seen) == 16
    assert len({tuple(map(id, found)) for found in seen}) == 1


def test_packages_loaded_by_many_threads_are_apart(folder):
    packages, start = [], threading.Barrier(6)

    def load():
        start.wait()
        packages.append(overlay.load(folder))

    threads = [threading.Thread(target=load) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len({package._name for package in packages}) == 6
    assert len({id(package.attention) for package in packages}) == 6


def test_a_traceback_shows_the_real_file(folder):
    write(folder, "attention", reference("attention") + OFF)
    package = overlay.load(folder)
    with pytest.raises(ArithmeticError) as caught:
        package.attention.attention(*torch.ones(3, 2, 4, 6))
    frame = traceback.extract_tb(caught.value.__traceback__)[-1]
    assert frame.filename == str(folder.resolve() / "attention.py")
    assert frame.line == 'raise ArithmeticError("mine")'


def test_a_broken_module_leaves_no_half_of_itself(folder):
    """After an exception at import the next load starts from nothing."""
    write(folder, "attention", "import torch\nsoftmax = None\nraise ArithmeticError\n")
    package = overlay.load(folder)
    for _ in range(2):
        with pytest.raises(ArithmeticError):
            package.attention  # noqa: B018
    write(folder, "attention", reference("attention"))
    assert callable(overlay.load(folder).attention.softmax)


def test_unloading_forgets_all_modules(folder):
    package = overlay.load(folder)
    model(package)
    name = package._name
    assert f"{name}.model" in sys.modules
    overlay.unload(package)
    assert not [loaded for loaded in sys.modules if loaded.split(".")[0] == name]


@pytest.mark.parametrize(
    "name",
    [
        "atention.py",
        "attention.PY",
        "Attention.py",
        "attention.py.bak",
        "attention.py~",
        "utils.py",
    ],
)
def test_a_file_that_would_be_ignored_is_refused(folder, name):
    """Otherwise the reference would be judged in its place, and found right."""
    (folder / name).write_text("x = 1\n", encoding="utf-8")
    message, found = refusal(folder)
    assert message == "unknown_file"
    assert found["file"] == name
    assert "attention.py" in found["known"]


@pytest.mark.parametrize("name", ["README.md", "predictions.toml", ".attention.py.swp"])
def test_files_that_are_no_modules_do_not_disturb(folder, name):
    (folder / name).write_text("?", encoding="utf-8")
    (folder / "__pycache__").mkdir()
    assert callable(overlay.load(folder).attention.softmax)


@pytest.mark.parametrize(
    "line",
    [
        "from reference.attention import softmax",
        "import reference",
        "import reference.attention as a",
        "from buggy import overlay",
        "import tests.rules, torch",
        "from challenges.desk import x",
        "def later():\n    from reference import attention",
    ],
)
def test_an_import_around_the_overlay_is_refused(folder, line):
    write(folder, "attention", f"{reference('attention')}\n{line}\n")
    message, found = refusal(folder)
    assert message == "absolute_import"
    assert found["file"] == "attention.py"
    assert found["name"].split(".")[0] in ("reference", "buggy", "tests", "challenges")


def test_the_reference_itself_never_imports_around_the_overlay(tmp_path):
    """What is forbidden to learners is forbidden to the reference."""
    for module in overlay.JUDGED:
        write(tmp_path, module, reference(module))
    overlay.check(tmp_path)


@pytest.mark.parametrize(
    ("source", "reason"),
    [("def softmax(:\n", "syntax"), ("x = 1\n  y = 2\n", "indent"), ("x = 1\0\n", "null")],
)
def test_a_syntax_error_is_told_with_its_line(folder, source, reason):
    write(folder, "attention", source)
    message, found = refusal(folder)
    assert message == "syntax"
    assert found["file"] == "attention.py"
    assert found["line"] in (1, 2)
    assert reason in found["reason"].lower()


def test_a_missing_or_empty_folder_is_refused(tmp_path):
    assert refusal(tmp_path / "nowhere")[0] == "no_folder"
    assert refusal(tmp_path)[0] == "no_modules"
    (tmp_path / "file").write_text("", encoding="utf-8")
    assert refusal(tmp_path / "file")[0] == "no_folder"


def test_windows_files_and_odd_paths_are_read(tmp_path):
    """CRLF, a byte-order mark, spaces and letters beyond ASCII."""
    folder = tmp_path / "あ い ü"
    folder.mkdir()
    (folder / "attention.py").write_bytes(
        b"\xef\xbb\xbf" + reference("attention").replace("\n", "\r\n").encode()
    )
    package = overlay.load(folder)
    assert package.attention.causal_mask(3).sum() == 3
    assert package.attention.__file__ == str(folder.resolve() / "attention.py")


def test_the_reference_may_be_laid_over_itself(tmp_path):
    overlay.check(overlay.REFERENCE)
    link = tmp_path / "link"
    link.symlink_to(overlay.REFERENCE)
    overlay.check(link)


def test_nothing_of_python_is_an_attribute_of_a_package():
    """Copying and printing ask for dunder names; they must not import anything."""
    package = overlay.load()
    with pytest.raises(AttributeError):
        package.__wrapped__  # noqa: B018
    assert "Package" in repr(package)
    with pytest.raises(ModuleNotFoundError):
        package.nothing  # noqa: B018
