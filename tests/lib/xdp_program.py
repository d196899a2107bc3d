#!/usr/bin/env -S python3 -B
"""Attaches an XDP program that is not ours, and passes every frame to the kernel, to an interface while this runs.

    xdp_program.py INTERFACE     prints `attached`
"""
import ctypes
import os
import platform
import signal
import socket
import struct
import sys

sys.path.insert(1, sys.path[0] + "/..")
from lib.outcome import Skipped

AF_XDP = 44  # linux/socket.h
BPF_MAP_CREATE, BPF_PROG_LOAD, BPF_LINK_CREATE = 0, 5, 28  # linux/bpf.h, as all of these
BPF_MAP_TYPE_XSKMAP, BPF_PROG_TYPE_XDP, BPF_XDP = 17, 6, 37
MOVE_2_TO_R0, EXIT = struct.pack("<BBhi", 0xb7, 0, 0, 2), struct.pack("<BBhi", 0x95, 0, 0, 0)  # 2: XDP_PASS
SYSTEM_CALLS = {"x86_64": 321, "aarch64": 280}


def bpf(command, attributes):
    """Returns a descriptor, or raises OSError. Attributes that are not given are 0."""
    libc = ctypes.CDLL(None, use_errno=True)
    block = ctypes.create_string_buffer(attributes, 128)
    answer = libc.syscall(SYSTEM_CALLS[platform.machine()], command, block, len(block))
    if answer < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return answer


def need_af_xdp():
    """Skips the test where AF_XDP cannot be used."""
    try:
        socket.socket(AF_XDP, socket.SOCK_RAW).close()
        os.close(bpf(BPF_MAP_CREATE, struct.pack("IIII", BPF_MAP_TYPE_XSKMAP, 4, 4, 1)))
    except OSError as error:
        raise Skipped(f"this kernel, or this user's rights, have no AF_XDP: {error}") from error
    except KeyError as error:
        raise Skipped(f"the number of bpf(2) on {platform.machine()} is not known here") from error


def attach(interface):
    instructions, license_text = ctypes.create_string_buffer(MOVE_2_TO_R0 + EXIT), ctypes.create_string_buffer(b"any")
    program = bpf(BPF_PROG_LOAD, struct.pack("IIQQ", BPF_PROG_TYPE_XDP, 2, ctypes.addressof(instructions),
                                             ctypes.addressof(license_text)))
    return bpf(BPF_LINK_CREATE, struct.pack("IIII", program, socket.if_nametoindex(interface), BPF_XDP, 0))


if __name__ == "__main__":
    attach(sys.argv[1])
    print("attached", flush=True)
    signal.pause()
