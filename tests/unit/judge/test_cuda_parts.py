"""The parts of the GPU's side that need no GPU."""

from __future__ import annotations

import ctypes
import itertools
import threading
import time

import pytest
from kernelwright.judge.cuda import kernels, native
from kernelwright.judge.cuda.store import FreeList
from kernelwright.judge.cuda.subject import gaps, timed_calls


@pytest.fixture(scope="module")
def library() -> ctypes.CDLL:
    return native.load(native.path())


def heap(library: ctypes.CDLL, size: int = 1 << 20) -> None:
    library.heap_alloc.restype = ctypes.c_void_p
    library.heap_alloc.argtypes = [ctypes.c_ssize_t, ctypes.c_int, ctypes.c_void_p]
    library.heap_free.argtypes = [ctypes.c_void_p, ctypes.c_ssize_t, ctypes.c_int, ctypes.c_void_p]
    library.heap_open(4096, size, None)


def test_heap_reuses_and_merges(library: ctypes.CDLL) -> None:
    heap(library)
    places = [library.heap_alloc(1000, 0, None) for _ in range(3)]
    assert places == [4096, 4096 + 1024, 4096 + 2048]
    for place in (places[0], places[2], places[1]):
        library.heap_free(place, 1000, 0, None)
    assert library.heap_alloc(1 << 20, 0, None) == 4096
    assert library.heap_most() == 1 << 20


def test_heap_keeps_freed_memory_back_while_it_poisons(library: ctypes.CDLL) -> None:
    heap(library)
    library.heap_poison(0xFF)
    first = library.heap_alloc(1000, 0, None)
    library.heap_free(first, 1000, 0, None)
    assert library.heap_alloc(1000, 0, None) != first
    library.heap_poison(-1)
    assert library.heap_alloc(100, 0, None) == 4096


def test_watch_notes_each_mark(library: ctypes.CDLL) -> None:
    words = (ctypes.c_uint32 * 32)()
    gate, counter = ctypes.addressof(words), ctypes.addressof(words) + 64

    def device() -> None:
        while not words[0]:
            pass
        for value in range(1, 4):
            time.sleep(0.01)
            words[16] = value

    thread = threading.Thread(target=device)
    thread.start()
    stamps = (ctypes.c_int64 * 4)()
    assert library.watch(gate, counter, 3, stamps, 5_000_000_000) == 3
    thread.join()
    assert all(later > earlier for earlier, later in itertools.pairwise(stamps))


def test_watch_gives_up_and_refuses_marks_that_cannot_be(library: ctypes.CDLL) -> None:
    words = (ctypes.c_uint32 * 32)()
    stamps = (ctypes.c_int64 * 4)()
    base = ctypes.addressof(words)
    assert library.watch(base, base + 64, 3, stamps, 1_000_000) == 0
    words[16] = 9
    assert library.watch(base, base + 64, 3, stamps, 1_000_000) == -1


def test_gaps_are_calls_and_flushes_and_leave_out_what_was_not_seen() -> None:
    stamps = [0, 10, 15, 40, 47, 48]  # open, call 10 to 15, flush to 40, call to 47, join to 48
    assert gaps(stamps, 1) == [5, 7] and gaps(stamps, 2) == [25]
    assert gaps([0, 10, 0, 40, 47, 48], 1) == [7] and gaps([0, 10, 0, 40, 47, 48], 2) == []


def test_the_first_call_is_not_counted_and_long_flushes_are_charged() -> None:
    # gate, call 10 to 15, flush of 25, call 40 to 47, flush of 40, call 87 to 90, join
    stamps = [0, 10, 15, 40, 47, 87, 90, 91]
    assert timed_calls(stamps, 30.0) == [7.0, 3 + 10.0]
    assert timed_calls([0, 10, 15, 16], 30.0) == [5.0]
    assert timed_calls([0, 10, 15, 0, 47, 87, 90, 91], 30.0) == [3 + 10.0]


def test_free_list_merges() -> None:
    places = FreeList(4096)
    starts = [places.take(1000) for _ in range(4)]
    assert starts == [0, 1024, 2048, 3072]
    with pytest.raises(MemoryError):
        places.take(1)
    for start in (1024, 3072, 2048, 0):
        places.give_back(start)
    assert places.free == {0: 4096}


@pytest.mark.parametrize(
    "name",
    [
        "void at::native::vectorized_elementwise_kernel<4, at::native::FillFunctor<float>>(int)",
        "sm90_xmma_gemm_bf16bf16_bf16f32_f32_tn_n_tilesize64x64x64_cublas",
        "nvjet_tst_64x8_64x16_4x1_v_bz_TNT",
        "void cutlass::Kernel2<cutlass_80_tensorop_bf16_s16816gemm_relu>(Params)",
        "void gemv2T_kernel_val<int, float>",
        "void cudnn::bn_fw_inf_1C11_kernel_NCHW<float>",
        "void at_cuda_detail::cub::DeviceReduceKernel<float>",
        "pytorch_flash::flash_fwd_kernel<float>",
    ],
)
def test_library_kernels_are_known_by_name(name: str) -> None:
    share, library = kernels.attribution([[name, 9.0, 1], ["rms_norm_kernel", 1.0, 1], ["Memset (Device)", 50.0, 1]])
    assert share == pytest.approx(0.1) and sum(library.values()) == 9.0


@pytest.mark.parametrize("name", ["rms_norm_kernel", "triton_poi_fused_add_0", "my_gemm_bf16", "(anonymous)::rows"])
def test_own_kernels_are_not_taken_for_a_library(name: str) -> None:
    assert kernels.attribution([[name, 9.0, 1]]) == (1.0, {})
