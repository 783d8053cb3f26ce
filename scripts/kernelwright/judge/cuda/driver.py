"""The few calls of NVIDIA's driver that the judge needs, through ctypes. Importing this loads nothing."""

from __future__ import annotations

import ctypes
from ctypes import POINTER, c_float, c_int, c_size_t, c_ubyte, c_uint, c_uint64, c_ulonglong, c_void_p
from functools import cache
from typing import Any

FD_HANDLE = 1  # CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR
READ_WRITE = 3
WAIT_GEQ = 0
DEFAULT_STREAM = None  # torch's default stream, and the one of a launch that names none


class DriverError(RuntimeError):
    """A call of the driver failed; the message has its name and CUDA's code."""


class Location(ctypes.Structure):
    _fields_ = [("type", c_int), ("id", c_int)]


class Properties(ctypes.Structure):
    """CUmemAllocationProp."""

    _fields_ = [
        ("type", c_int),
        ("handles", c_int),
        ("location", Location),
        ("win32", c_void_p),
        ("flags", c_ubyte * 8),
    ]


class Access(ctypes.Structure):
    _fields_ = [("location", Location), ("flags", c_int)]


SIGNATURES: dict[str, list[Any]] = {
    "cuInit": [c_uint],
    "cuGetErrorName": [c_int, POINTER(ctypes.c_char_p)],
    "cuDriverGetVersion": [POINTER(c_int)],
    "cuCtxGetCurrent": [POINTER(c_void_p)],
    "cuCtxSynchronize": [],
    "cuCtxRecordEvent": [c_void_p, c_void_p],
    "cuCtxResetPersistingL2Cache": [],
    "cuMemGetAllocationGranularity": [POINTER(c_size_t), POINTER(Properties), c_int],
    "cuMemCreate": [POINTER(c_ulonglong), c_size_t, POINTER(Properties), c_ulonglong],
    "cuMemRelease": [c_ulonglong],
    "cuMemExportToShareableHandle": [c_void_p, c_ulonglong, c_int, c_ulonglong],
    "cuMemImportFromShareableHandle": [POINTER(c_ulonglong), c_void_p, c_int],
    "cuMemAddressReserve": [POINTER(c_uint64), c_size_t, c_size_t, c_uint64, c_ulonglong],
    "cuMemAddressFree": [c_uint64, c_size_t],
    "cuMemMap": [c_uint64, c_size_t, c_size_t, c_ulonglong, c_ulonglong],
    "cuMemUnmap": [c_uint64, c_size_t],
    "cuMemSetAccess": [c_uint64, c_size_t, POINTER(Access), c_size_t],
    "cuMemHostRegister_v2": [c_void_p, c_size_t, c_uint],
    "cuMemHostUnregister": [c_void_p],
    "cuMemHostGetDevicePointer_v2": [POINTER(c_uint64), c_void_p, c_uint],
    "cuMemsetD8Async": [c_uint64, c_ubyte, c_size_t, c_void_p],
    "cuMemsetD32Async": [c_uint64, c_uint, c_size_t, c_void_p],
    "cuMemcpyDtoHAsync_v2": [c_void_p, c_uint64, c_size_t, c_void_p],
    "cuStreamWaitValue32_v2": [c_void_p, c_uint64, c_uint, c_uint],
    "cuStreamWriteValue32_v2": [c_void_p, c_uint64, c_uint, c_uint],
    "cuStreamSynchronize": [c_void_p],
    "cuStreamWaitEvent": [c_void_p, c_void_p, c_uint],
    "cuEventCreate": [POINTER(c_void_p), c_uint],
    "cuEventRecord": [c_void_p, c_void_p],
    "cuEventElapsedTime_v2": [POINTER(c_float), c_void_p, c_void_p],
}


@cache
def library() -> ctypes.CDLL:
    """libcuda.so.1 with argument types set. Raises OSError where there is no driver."""
    loaded = ctypes.CDLL("libcuda.so.1")
    for name, arguments in SIGNATURES.items():
        function = getattr(loaded, name, None) or getattr(loaded, name.removesuffix("_v2"), None)
        if function is not None:
            function.argtypes, function.restype = arguments, c_int
            setattr(loaded, name, function)
    return loaded


def call(name: str, *arguments: Any) -> None:
    """One call of the driver. Raises DriverError."""
    code = getattr(library(), name)(*arguments)
    if code:
        raise DriverError(f"{name}: {error_name(code)}")


def error_name(code: int) -> str:
    text = ctypes.c_char_p()
    library().cuGetErrorName(code, ctypes.byref(text))
    return text.value.decode() if text.value else f"error {code}"


def address_of(name: str) -> int:
    """Where a function of the driver lies, for native code that calls it."""
    return ctypes.cast(getattr(library(), name), c_void_p).value or 0
