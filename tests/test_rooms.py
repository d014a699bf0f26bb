"""The table of rooms, held true: every import of every module is read and compared with it."""

import ast
from pathlib import Path

import pytest

SOURCE = Path(__file__).parent.parent / "src" / "quorate"

# room -> our own modules that it may import; a name covers what is below it.
WORDS = {"model", "ports", "errors", "money"}
ROOMS = {
    "core": WORDS - {"money"} | {"core"},
    "stores": WORDS | {"stores", "facts", "ports_store"},
    "campaign": WORDS | {"core", "campaign", "facts", "ports_store", "spec", "registry"},
    "platforms": WORDS | {"platforms", "core.hashing", "core.worlds"},
    "interfaces": WORDS
    | {
        "interfaces",
        "campaign",
        "registry",
        "spec",
        "studies",
        "files",
        "certificate",
        "aggregation",
        "demo",
    }
    | {"facts", "platforms.recorded", "stores.transfer"},  # words, and files on disk
    "files": WORDS | {"files"},
}
OUTSIDE_OF_CORE = {"numpy", "scipy"}


def imports_of(path):
    """(module, line, at module level?) of every import in a file."""
    tree = ast.parse(path.read_text())
    top = {id(node) for node in tree.body}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ((alias.name, node.lineno, id(node) in top) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}:{node.lineno} is a relative import: write the whole name"
            yield node.module, node.lineno, id(node) in top
            yield from ((f"{node.module}.{alias.name}", node.lineno, id(node) in top) for alias in node.names)


def modules(room):
    return sorted((SOURCE / room).rglob("*.py"))


@pytest.mark.parametrize("room", ROOMS)
def test_a_room_imports_only_what_the_table_allows(room):
    files = modules(room)
    assert files, f"no modules in {room}: the test looks in the wrong place"
    wrong = [
        f"{path.relative_to(SOURCE)}:{line} imports {module}"
        for path in files
        for module, line, _ in imports_of(path)
        if module.startswith("quorate.") and not covered(module.removeprefix("quorate."), ROOMS[room])
    ]
    assert not wrong, "\n".join(wrong)


def covered(module, allowed):
    return any(module == one or module.startswith(f"{one}.") or one.startswith(f"{module}.") for one in allowed)


def test_core_is_numpy_and_scipy_and_no_clock():
    known = OUTSIDE_OF_CORE | {"quorate", "__future__"}
    harmless = {
        "collections",
        "dataclasses",
        "typing",
        "functools",
        "itertools",
        "math",
        "hashlib",
        "enum",
        "fractions",
        "heapq",
        "bisect",
    }
    wrong = [
        f"{path.relative_to(SOURCE)}:{line} imports {module}"
        for path in modules("core")
        for module, line, _ in imports_of(path)
        if module.split(".")[0] not in known | harmless
    ]
    assert not wrong, "\n".join(wrong)


def test_heavy_packages_wait_inside_functions():
    heavy = {"pandas", "polars", "pyarrow", "matplotlib", "sklearn", "psycopg", "scipy.optimize", "scipy.stats"}
    wrong = [
        f"{path.relative_to(SOURCE)}:{line} imports {module} at import time"
        for path in sorted(SOURCE.rglob("*.py"))
        if not path.name.startswith("postgres")  # imported only when a postgresql:// store is opened
        for module, line, top in imports_of(path)
        if top and any(module == one or module.startswith(f"{one}.") for one in heavy)
    ]
    assert not wrong, "\n".join(wrong)


def test_nothing_in_the_package_names_a_place_on_a_machine():
    wrong = [
        str(path.relative_to(SOURCE))
        for path in sorted(SOURCE.rglob("*"))
        if path.suffix in {".py", ".sql", ".html", ".json"}
        and ("/work/" in path.read_text() or "/home/" in path.read_text())
    ]
    assert not wrong
