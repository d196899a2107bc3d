"""What a machine boots: Debian's kernel, and an initramfs that is made here, in memory."""
import functools
import lzma
import os
import pathlib
import platform
import re
import shlex
import shutil
import struct
import subprocess

import stacks

GUEST = pathlib.Path(__file__).resolve().parent / "guest"
# The modules that reach the host's file system and the serial line; all others are loaded from there.
FIRST_MODULES = ["virtio_pci", "9pnet_virtio", "9p", "overlay", "virtio_console"]
PROGRAMS = {"qemu-system-x86_64": "qemu-system-x86", "modprobe": "kmod", "busybox": "busybox-static", "ip": "iproute2",
            "bash": "bash", "mount": "mount"}

# no_timer_check, since too few timer interrupts arrive on a busy host. norandmaps, since programs that lie at the same
# addresses need not be translated again, and start in half the time. preempt=full, since soft-RoCE may send without end to a link
# that is going down, and a single processor would never get to take it down. mitigations=off, since an emulated processor does not
# speculate. Not tsc=reliable, though the TSC is read faster than the HPET: on a busy host the kernel may measure a third of its
# frequency (seen once in 18 boots), and would not check it again.
KERNEL_LINE = f"console=ttyS0 loglevel=4 no_timer_check norandmaps preempt=full mitigations=off {stacks.KERNEL_WORDS}"
IOMMU_LINE = "intel_iommu=on iommu=pt"


class Missing(Exception):
    """The text names what is not installed."""


def by_version(release):
    return [int(part) if part.isdecimal() else 0 for part in re.split(r"[.\-]", release)]


def shell_variables(settings):
    settings = settings | {"guest": GUEST, "folder": os.getcwd()}
    return "".join(f"{name}={shlex.quote(str(value))}\n" for name, value in settings.items()).encode()


class Kernel:
    restarts, descriptors = False, []

    def __init__(self, release, modules):
        if platform.machine() != "x86_64":
            raise Missing(f"the machine is an x86_64 one, this host is {platform.machine()}")
        for program, package in PROGRAMS.items():
            if not find(program):
                raise Missing(f"{program} is missing here (package {package})")
        if b"/ld-linux" in pathlib.Path(find("busybox")).read_bytes()[:4096]:
            raise Missing("busybox is linked dynamically (package busybox-static has the other)")
        found = sorted((path.name.removeprefix("vmlinuz-") for path in pathlib.Path("/boot").glob("vmlinuz-*")),
                       key=by_version, reverse=True)
        releases = [release] if release else found
        lacks = "there is none in /boot" if not releases else None
        for self.release in releases:
            lacks = self.lacks(modules)
            if not lacks:
                return
        raise Missing(f"no kernel serves: {lacks} (package linux-image-amd64)")

    @property
    def path(self):
        return f"/boot/vmlinuz-{self.release}"

    def lacks(self, modules):
        if not os.access(self.path, os.R_OK):
            return f"{self.path} cannot be read"
        for module in FIRST_MODULES + modules:
            if self.files_of(module) is None:
                return f"kernel {self.release} has no module {module}"
        return None

    def files_of(self, module):
        """The files of a module and of those it needs, in the order of loading; None: there is no such module."""
        done = subprocess.run([find("modprobe"), "-S", self.release, "--show-depends", module], capture_output=True,
                              text=True, check=False)
        lines = [line.split() for line in done.stdout.splitlines()]
        return [line[1] for line in lines if line[0] == "insmod"] if done.returncode == 0 else None

    @functools.cached_property
    def unpacked(self):
        """The ELF image that is packed in the kernel's file ("payload" in the kernel's Documentation/x86/boot.rst), which
        qemu starts by itself: unpacking takes the emulated machine three seconds. None: it is packed in another way."""
        image = pathlib.Path(self.path).read_bytes()
        offset, length = struct.unpack_from("<II", image, 0x248)
        begin = (image[0x1F1] + 1) * 512 + offset
        try:
            return lzma.LZMADecompressor(lzma.FORMAT_XZ).decompress(image[begin:begin + length])
        except lzma.LZMAError:
            return None

    def arguments(self, options, settings, command, file_of):
        """The options of qemu that boot it."""
        kernel = file_of(self.unpacked) if self.unpacked else self.path
        line = KERNEL_LINE
        if options.hugepages:
            line += f" hugepages={options.hugepages}"
        if options.large_pages:
            line += f" default_hugepagesz=1GB hugepagesz=1GB hugepages={options.large_pages}"
        if options.iommu:
            line += f" {IOMMU_LINE}"
        return ["-kernel", kernel, "-initrd", file_of(self.initramfs(settings, command)), "-append", f"quiet panic=-1 {line}"]

    def initramfs(self, settings, command):
        """As bytes. `settings` become shell variables of guest/start."""
        files = list(dict.fromkeys(file for module in FIRST_MODULES for file in self.files_of(module)))
        archive = Cpio()
        for folder in ("bin", "lab", "host", "memory", "new"):
            archive.add(folder, b"", 0o040755)
        archive.add("bin/busybox", pathlib.Path(find("busybox")).read_bytes(), 0o100755)
        archive.add("init", (GUEST / "init").read_bytes(), 0o100755)
        names = []
        for file in files:
            names.append(os.path.basename(file))
            archive.add(f"lab/{names[-1]}", pathlib.Path(file).read_bytes(), 0o100644)
        archive.add("lab/settings", shell_variables(settings | {"modules": " ".join(names)}), 0o100644)
        archive.add("lab/command", shlex.join(command).encode("utf-8", "surrogateescape"), 0o100644)
        return archive.end()


def find(program):
    return shutil.which(program, path=os.environ.get("PATH", "") + ":/usr/sbin:/sbin")


class Cpio:
    """The "newc" format: a header of hexadecimal fields, the name, the content, each part padded to four bytes
    (Documentation/driver-api/early-userspace/buffer-format.rst of Linux)."""

    def __init__(self):
        self.parts, self.count = [], 0

    def add(self, name, content, mode):
        self.count += 1
        raw = name.encode() + b"\0"
        # inode, mode, uid, gid, links, mtime, size, four numbers of devices, length of the name, checksum
        fields = [self.count, mode, 0, 0, 1, 0, len(content), 0, 0, 0, 0, len(raw), 0]
        header = b"070701" + b"".join(b"%08x" % field for field in fields) + raw
        self.parts += [header, b"\0" * (-len(header) % 4), content, b"\0" * (-len(content) % 4)]

    def end(self):
        self.add("TRAILER!!!", b"", 0)
        return b"".join(self.parts)
