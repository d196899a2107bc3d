#!/usr/bin/env python3
"""Two hosts' NICs, wired together, that steer as a NIC's rules do (ethtool -N): a TCP segment comes in by the queue that its
destination's port belongs to, all else by the first.

    steering_nics.py NAME NAMESPACE NAMESPACE --queues N --ports FIRST-LAST

The interface NAME is made in both network namespaces, given by their files, and lives as long as this program. It is a TAP
whose other end is here. "ready" on standard output: both are there.
"""
import argparse
import ctypes
import fcntl
import os
import select
import struct

TUNSETIFF = 0x400454CA
IFF_TAP, IFF_NO_PI, IFF_MULTI_QUEUE = 0x2, 0x1000, 0x100  # <linux/if_tun.h>
IPV4, IPV6, TCP = 0x0800, 0x86DD, 6
MOST = 65536


def enter(namespace):
    with open(namespace, "rb") as file:
        if ctypes.CDLL(None, use_errno=True).setns(file.fileno(), 0) != 0:
            raise OSError(ctypes.get_errno(), f"setns {namespace}")


def queues_of(name, count):
    descriptors = []
    for _ in range(count):
        descriptor = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK)
        fcntl.ioctl(descriptor, TUNSETIFF, struct.pack("16sH22x", name.encode(), IFF_TAP | IFF_NO_PI | IFF_MULTI_QUEUE))
        descriptors.append(descriptor)
    return descriptors


def port_of(frame):
    """The destination port of a TCP segment; None: the frame is none."""
    kind = int.from_bytes(frame[12:14], "big")
    if kind == IPV4 and frame[23] == TCP:
        at = 14 + 4 * (frame[14] & 0xF)
    elif kind == IPV6 and frame[20] == TCP:
        at = 14 + 40
    else:
        return None
    return int.from_bytes(frame[at + 2:at + 4], "big")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("name")
    parser.add_argument("namespaces", nargs=2)
    parser.add_argument("--queues", type=int, required=True)
    parser.add_argument("--ports", required=True)
    arguments = parser.parse_args()
    first, last = map(int, arguments.ports.split("-"))
    each = (last - first + 1) // arguments.queues

    nics = []
    for namespace in arguments.namespaces:
        enter(namespace)
        nics.append(queues_of(arguments.name, arguments.queues))
    other = {descriptor: nics[1 - side] for side in (0, 1) for descriptor in nics[side]}
    poll = select.poll()
    for descriptor in other:
        poll.register(descriptor, select.POLLIN)
    print("ready", flush=True)
    while True:
        for descriptor, _ in poll.poll():
            try:
                frame = os.read(descriptor, MOST)
                port = port_of(frame)
                queue = (port - first) // each if port is not None and first <= port <= last else 0
                os.write(other[descriptor][min(queue, arguments.queues - 1)], frame)
            except OSError:
                pass  # the interface is down, or its queue full: a frame is lost


if __name__ == "__main__":
    main()
