"""Clocks, temperature and power of the GPU, as NVIDIA's management library tells them. Nothing is set."""

from __future__ import annotations

import ctypes
from ctypes import byref, c_uint, c_void_p
from functools import cache

SM_CLOCK, MEMORY_CLOCK, CORE_TEMPERATURE = 1, 2, 0


@cache
def handle() -> tuple[ctypes.CDLL, c_void_p] | None:
    """The library and the first GPU, or None where it is missing."""
    try:
        library = ctypes.CDLL("libnvidia-ml.so.1")
    except OSError:
        return None
    device = c_void_p()
    if library.nvmlInit_v2() or library.nvmlDeviceGetHandleByIndex_v2(c_uint(0), byref(device)):
        return None
    return library, device


def number(function: str, *selector: int) -> int | None:
    found = handle()
    if found is None:
        return None
    value = c_uint()
    code = getattr(found[0], function)(found[1], *map(ctypes.c_int, selector), byref(value))
    return None if code else value.value


def condition() -> str | None:
    """Clocks, temperature and power in words, None when they cannot be read."""
    clock = number("nvmlDeviceGetClockInfo", SM_CLOCK)
    if clock is None:
        return None
    memory = number("nvmlDeviceGetClockInfo", MEMORY_CLOCK)
    heat = number("nvmlDeviceGetTemperature", CORE_TEMPERATURE)
    power = number("nvmlDeviceGetPowerUsage")
    watts = "?" if power is None else f"{power / 1000:.0f}"
    return f"{clock} MHz compute, {memory} MHz memory, {heat} C, {watts} W"


def driver_version() -> str | None:
    found = handle()
    if found is None:
        return None
    text = ctypes.create_string_buffer(96)
    return None if found[0].nvmlSystemGetDriverVersion(text, c_uint(96)) else text.value.decode()
