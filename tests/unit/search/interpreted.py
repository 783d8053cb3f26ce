"""Run rendered Triton kernels on the CPU in Triton's interpreter and compare them with the references.

    TRITON_INTERPRET=1 python interpreted.py OUTPUT.json [OPERATOR ...]

A process of its own, because Triton decides at import whether it interprets. Writes operator -> list of [parameters,
workload, largest difference relative to the largest expected value, or the error].
"""

from __future__ import annotations

import copy
import json
import sys
import tempfile
import traceback
from pathlib import Path

from kernelwright import operators, paths
from kernelwright.operators.runtime import Runtime, import_file
from kernelwright.search import recognise, templates
from kernelwright.search.templates.base import Facts

# Workloads beside the edge ones that take another path: words across row ends, tiles by descriptor.
FURTHER = {
    "causal_conv1d": ["cpu_512x128", "cpu_1000x257"],
    "linear_sigmoid_mul": ["cpu_13x512x1024", "cpu_257x512x512"],
    "block_scaled_mm": ["cpu_257x200x384"],
}


def difference(given, wanted):
    if (given.dtype, given.shape, given.stride()) != (wanted.dtype, wanted.shape, wanted.stride()):
        return f"{given.dtype} {tuple(given.shape)} {given.stride()}, expected {wanted.dtype} {tuple(wanted.shape)}"
    given, wanted = given.double(), wanted.double()
    largest = float(wanted.abs().max()) if wanted.numel() else 1.0
    return float((given - wanted).abs().max() / max(largest, 1e-30)) if wanted.numel() else 0.0


def check(operator, text, workloads, folder):
    path = folder / f"kernel_{abs(hash(text)):x}.py"
    path.write_text(text)
    module = import_file(path, path.stem)
    runtime = Runtime(operator)
    for workload in workloads:
        inputs = runtime.build_inputs(workload, seed=7, device="cpu")
        expected = runtime.reference(workload, "cpu")(**copy.deepcopy(inputs))
        try:
            given = runtime.candidate(module, workload, "cpu")(**copy.deepcopy(inputs))
            differences = [difference(given[name], wanted) for name, wanted in expected.items()]
            texts = [found for found in differences if isinstance(found, str)]
            yield workload.id, (texts or [max(differences)])[0]
        except Exception as error:
            lines = traceback.format_exc().strip().splitlines()
            yield workload.id, f"{type(error).__name__}: {' | '.join(lines[-6:])}"


def parameter_sets(template):
    return [{name: values[at % len(values)] for name, values in template.SPACE.items()} for at in (0, 1, -1)]


def _wide(operand):
    import numpy as np
    import triton.language as tl
    from triton.runtime.interpreter import TensorHandle

    if operand.dtype.scalar != tl.bfloat16:
        return operand
    return TensorHandle((operand.data.astype(np.uint32) << 16).view(np.float32), tl.float32)


def prepare():
    """A device of three multiprocessors, so that programs that walk over tiles have several; loops over scalars that
    are arrays of one element, which newer NumPy no longer turns into integers by itself."""
    import types

    import torch
    from triton.runtime import interpreter

    original = interpreter._patch_lang_tensor

    def patched(tensor, scope):
        original(tensor, scope)
        scope.set_attr(tensor, "__index__", lambda self: int(self.handle.data.item()))

    interpreter._patch_lang_tensor = patched
    product = interpreter.InterpreterBuilder.create_dot

    def create_dot(self, a, b, *others):
        """The interpreter multiplies the bits of bfloat16 operands as if they were integers."""
        return product(self, *(_wide(operand) for operand in (a, b)), *others)

    interpreter.InterpreterBuilder.create_dot = create_dot
    torch.cuda.get_device_properties = lambda device: types.SimpleNamespace(multi_processor_count=3)


def main(argv):
    prepare()
    output, names = Path(argv[0]), argv[1:]
    found = {}
    with tempfile.TemporaryDirectory() as folder:
        for name in names:
            operator = operators.load(paths.operators_dir() / name)  # an absolute path stands for itself
            body = recognise.recognise(operator, "triton")
            rows = found[name] = []
            for match in body["matches"]:
                template = templates.get(match["template"])
                for parameters in parameter_sets(template):
                    text = template.render(Facts.from_json(body["facts"]), match["semantics"], parameters)
                    edge = list(operator.edge_workloads.values()) or list(operator.workloads.values())
                    chosen = [*edge, *map(operator.workload, FURTHER.get(name, ()))]
                    rows += [[parameters, *pair] for pair in check(operator, text, chosen, Path(folder))]
    output.write_text(json.dumps(found))


if __name__ == "__main__":
    main(sys.argv[1:])
