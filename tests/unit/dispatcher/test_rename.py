"""Renaming module-level names in text: exact, verbatim elsewhere, or refused."""

from __future__ import annotations

import ast

import pytest
from kernelwright.dispatcher import bytecode
from kernelwright.dispatcher.rename import MergeError, rename
from kernelwright.dispatcher.scopes import module_names


def renamed(text: str, suffix: str = "_k") -> str:
    return rename(text, {name: name + suffix for name in module_names(ast.parse(text))})


def values(text: str) -> dict[str, object]:
    namespace: dict[str, object] = {}
    exec(compile(text, "merged", "exec"), namespace)
    return namespace


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("A = 1\nB = A + 1\n", "A_k = 1\nB_k = A_k + 1\n"),
        ("A = 1\ndef f(A):\n    return A\n", "A_k = 1\ndef f_k(A):\n    return A\n"),
        ("A = 1\ndef f(x=A, *, A=A):\n    return x\n", "A_k = 1\ndef f_k(x=A_k, *, A=A_k):\n    return x\n"),
        ("A = 1\ndef f():\n    global A\n    A += 1\n", "A_k = 1\ndef f_k():\n    global A_k\n    A_k += 1\n"),
        (
            "A = 1\ndef f():\n    A = 2\n    return lambda: A\n",
            "A_k = 1\ndef f_k():\n    A = 2\n    return lambda: A\n",
        ),
        ("A = 1\nB = [A for A in range(A)]\n", "A_k = 1\nB_k = [A for A in range(A_k)]\n"),
        ("A = 1\nB = [x + A for x in (1,)]\n", "A_k = 1\nB_k = [x + A_k for x in (1,)]\n"),
        (
            "A = 1\nclass C:\n    A = 2\n    def f(self):\n        return A, self.A\n",
            "A_k = 1\nclass C_k:\n    A = 2\n    def f(self):\n        return A_k, self.A\n",
        ),
        ("def d(f): return f\n@d\nasync   def g(): pass\n", "def d_k(f): return f\n@d_k\nasync   def g_k(): pass\n"),
        (
            "A = int\ndef f(x: A) -> A:\n    y: A = x\n    return y\n",
            "A_k = int\ndef f_k(x: A_k) -> A_k:\n    y: A_k = x\n    return y\n",
        ),
        ("A = 1\nS = 'A' # A\n", "A_k = 1\nS_k = 'A' # A\n"),
        ("A = 1\nS = '''é\n A\n''' + str(A)\n", "A_k = 1\nS_k = '''é\n A\n''' + str(A_k)\n"),
        ("import math as m\nA = m.pi\n", "import math as m_k\nA_k = m_k.pi\n"),
        ("from math import pi\nA = pi\n", "from math import pi as pi_k\nA_k = pi_k\n"),
        (
            "try:\n    x = 1\nexcept ValueError as e:\n    x = e\n",
            "try:\n    x_k = 1\nexcept ValueError as e_k:\n    x_k = e_k\n",
        ),
        (
            "A = 1\ndef f(s):\n    return f'{s:>{A}}' f\"{A!r}{{A}}\"\n",
            "A_k = 1\ndef f_k(s):\n    return f'{s:>{A_k}}' f\"{A_k!r}{{A}}\"\n",
        ),
        (
            "A = 1\nT = f'''é {A}\n{{A}} {[A for A in (1, 2)]} {A + 1}\n'''\n",
            "A_k = 1\nT_k = f'''é {A_k}\n{{A}} {[A for A in (1, 2)]} {A_k + 1}\n'''\n",
        ),
        ("A = {'x': 1}\nT = f\"{A['x']} {f'{A}'}\"\n", "A_k = {'x': 1}\nT_k = f\"{A_k['x']} {f'{A_k}'}\"\n"),
    ],
)
def test_text(before: str, after: str) -> None:
    assert renamed(before) == after


def test_behaviour_is_kept() -> None:
    text = (
        "A = 3\ncount = 0\n"
        "def scale(x, by=A):\n    global count\n    count += 1\n    return [x * by + A for _ in range(2)]\n"
        "class Model:\n    def run(self, x):\n        return scale(x) + [count, f'{A:04d}{{A}}']\n"
    )
    assert values(text)["Model"]().run(2) == values(renamed(text))["Model_k"]().run(2)  # type: ignore[operator]


def test_class_that_binds_and_reads_a_module_name_is_refused() -> None:
    with pytest.raises(MergeError, match="class C both binds 'A' and reads"):
        renamed("A = 1\nclass C:\n    A = A\n")


def test_dotted_import_that_must_be_renamed_is_refused() -> None:
    with pytest.raises(MergeError, match=r"import os.path"):
        renamed("import os.path\nA = os.path\n")


def test_match_capture_at_module_level_is_refused() -> None:
    with pytest.raises(MergeError, match="line 2: MatchAs binds 'y'"):
        renamed("match 1:\n    case y: pass\n")


def test_bytecode_comparison_sees_every_kind_of_difference() -> None:
    renames = {"A": "A_k"}
    assert bytecode.same_program("A = 1\nB = A\n", "A_k = 1\nB = A_k\n", renames)
    for changed in ("A_k = 2\nB = A_k\n", "A_k = 1\nB = A\n", "A_k = 1\nC = A_k\n", "A_k = 1\nB = -A_k\n", "A_k = 1\n"):
        assert not bytecode.same_program("A = 1\nB = A\n", changed, renames)
    assert not bytecode.same_program("A = 'x A'\nB = '.A'\n", "A_k = 'x A'\nB = '.A_k'\n", renames)
