"""Merging sources: imports, clashes and what is refused."""

from __future__ import annotations

import pytest
from kernelwright.dispatcher.merge import Kernel, merge
from kernelwright.dispatcher.rename import MergeError


def test_equal_imports_are_lifted_once_and_keep_their_names() -> None:
    first = (
        '"""One."""\nfrom __future__ import annotations\nimport math  # pi\nfrom math import pi\n\nX = math.pi + pi\n'
    )
    second = "import math\nfrom math import tau\n\nX = math.tau + tau\n"
    merged = merge([Kernel("a", first), Kernel("b", second)])
    assert merged.futures == ("annotations",)
    assert merged.imports == ("import math", "from math import pi", "from math import tau")
    assert merged.bodies == ('"""One."""\n\nX_a = math.pi + pi', "X_b = math.tau + tau")


def test_one_name_for_two_modules_is_renamed_in_place() -> None:
    merged = merge([Kernel("a", "import math as m\nX = m.pi\n"), Kernel("b", "import cmath as m\nX = m.tau\n")])
    assert merged.imports == ()
    assert merged.bodies == ("import math as m_a\nX_a = m_a.pi", "import cmath as m_b\nX_b = m_b.tau")


def test_optional_import_is_renamed() -> None:
    text = "try:\n    import fast\nexcept ImportError:\n    fast = None\n"
    assert merge([Kernel("a", text)]).bodies == (
        "try:\n    import fast as fast_a\nexcept ImportError:\n    fast_a = None",
    )


def test_imports_behind_other_statements_stay_there() -> None:
    merged = merge([Kernel("a", "import os\nos.umask(18)\nimport math\nX = math.pi\n")])
    assert merged.imports == ("import os",)
    assert merged.bodies == ("os.umask(18)\nimport math\nX_a = math.pi",)


def test_a_name_that_is_taken_gets_another() -> None:
    merged = merge([Kernel("a", "X = 1\nX_a = 2\n")])
    assert len(set(merged.names[0].values())) == 2
    assert "X_a" not in merged.names[0].values()


def test_main_guard_is_left_out_and_cpp_stays_verbatim() -> None:
    cpp = 'SOURCE = r"""\n#include <cmath>\nextern "C" void X(float* p) { /* {X} */ }\n"""\n'
    merged = merge([Kernel("a", "X = 1\n" + cpp + 'if __name__ == "__main__":\n    print(X)\n')])
    assert merged.bodies == ("X_a = 1\n" + cpp.strip().replace("SOURCE", "SOURCE_a"),)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("from math import *\n", r"k: line 1: `from math import \*`"),
        ("X = 1\ndef f():\n    return globals()['X']\n", r"k: line 3: globals\(\)"),
        ("exec('X = 1')\n", r"k: line 1: exec\(\)"),
        ("import sys\nX = sys.modules[__name__]\n", "k: line 2: sys.modules"),
        ("def __getattr__(name):\n    return 1\n", "__getattr__"),
        ("def f(:\n", "k: line 1"),
    ],
)
def test_refused(text: str, message: str) -> None:
    with pytest.raises(MergeError, match=message):
        merge([Kernel("k", text)])


def test_two_owners_of_one_registered_operator_are_refused() -> None:
    text = "import torch\n@torch.library.custom_op('own::f', mutates_args=())\n"
    text += "def f(x: torch.Tensor) -> torch.Tensor:\n    return x\n"
    with pytest.raises(MergeError, match="b and a both register"):
        merge([Kernel("a", text), Kernel("b", text)])
