"""A disk with Debian on it, made from the packages of this host's apt: docs/lab.md. It is kept, and a machine has
a copy, which is a file without a name."""
import fcntl
import hashlib
import os
import pathlib
import platform
import shlex
import subprocess
import sys
import tempfile

from image import IOMMU_LINE, KERNEL_LINE, Kernel, Missing, find, shell_variables

FURNISH = pathlib.Path(__file__).resolve().parent / "disk"
PACKAGES = ["systemd-sysv", "udev", "dbus", "iproute2", "kmod", "initramfs-tools", "grub2-common", "grub-pc-bin",
            "network-manager", "netplan.io"]
LEFT_OUT = ["man", "locale", "doc", "info"]  # of /usr/share
PROGRAMS = {"mmdebstrap": "mmdebstrap", "mke2fs": "e2fsprogs", "apt-get": "apt"}
# Modules of the guest's kernel besides those of its NICs.
MODULES = ["virtio_pci", "virtio_blk", "ext4", "9pnet_virtio", "9p", "virtio_console", "qemu_fw_cfg", "autofs4",
           "af_packet", "vfio_iommu_type1", "vfio-pci", "uio_pci_generic"]


class Disk:
    restarts = True

    def __init__(self, folder, release, modules):
        """The disk lies in `folder`, and is made there if it does not exist."""
        for program, package in PROGRAMS.items():
            if not find(program):
                raise Missing(f"{program} is missing here (package {package})")
        self.modules = MODULES + modules
        self.kernel = Kernel(release, self.modules)
        self.path = folder / f"{self.key()}.img"
        folder.mkdir(parents=True, exist_ok=True)
        with open(folder / "lock", "w", encoding="ascii") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not self.path.exists():
                for older in folder.glob("*.img"):
                    older.unlink()
                self.make(folder)
            copy = os.open(folder, os.O_TMPFILE | os.O_RDWR)
            subprocess.run(["cp", "--sparse=always", self.path, f"/dev/fd/{copy}"], pass_fds=[copy], check=True)
        self.descriptors = [copy]

    def key(self):
        """A hash of everything that the disk is made from, except the versions of packages."""
        parts = [self.kernel.release, *self.modules, *PACKAGES, *LEFT_OUT, KERNEL_LINE, IOMMU_LINE]
        for file in sorted(path for path in FURNISH.rglob("*") if path.is_file()):
            parts += [str(file.relative_to(FURNISH)), file.read_text(encoding="utf-8")]
        return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:16]

    def make(self, folder):
        if os.geteuid() != 0 or subprocess.run(["unshare", "--mount", "true"], stderr=subprocess.DEVNULL,
                                               check=False).returncode:
            raise Missing("making a disk needs root's rights, that to mount among them")
        print("vm: making the disk, which is kept", file=sys.stderr)
        with tempfile.TemporaryDirectory(dir=folder) as work:
            unfinished = pathlib.Path(work) / "disk.img"
            line = f"{KERNEL_LINE} {IOMMU_LINE}"
            furnish = [FURNISH / "furnish", self.kernel.release, line, unfinished, *self.modules]
            words = ["mmdebstrap", "--quiet", "--mode=root", "--variant=essential", "--format=null",
                     f"--include={','.join(PACKAGES)}", "--aptopt=APT::Install-Recommends \"false\"", *proxies(),
                     "--dpkgopt=force-unsafe-io",
                     *(f"--dpkgopt=path-exclude=/usr/share/{part}/*" for part in LEFT_OUT),
                     f"--customize-hook={shlex.join(map(str, furnish))} \"$1\"", suite(), "-", "-"]
            done = subprocess.run(words, input=sources(), text=True, stdout=sys.stderr, check=False,
                                  env=os.environ | {"PATH": os.environ["PATH"] + ":/usr/sbin:/sbin"})
            if done.returncode and not unfinished.exists():
                raise Missing("mmdebstrap cannot make a system of Debian's packages here: see above")
            if done.returncode:
                raise RuntimeError("the disk could not be made: see above")
            unfinished.rename(self.path)

    def arguments(self, _options, settings, command, file_of):
        """The options of qemu that boot it. The guest reads shell variables."""
        told = file_of(shell_variables(settings | {"command": shlex.join(command)}))
        return ["-drive", f"file=/dev/fd/{self.descriptors[0]},if=none,id=disk,format=raw", "-device",
                "virtio-blk-pci,drive=disk,bootindex=1", "-fw_cfg", f"name=opt/lab/told,file={told}"]


def apt(*words):
    return subprocess.run(words, capture_output=True, text=True, check=False).stdout


def suite():
    return platform.freedesktop_os_release().get("VERSION_CODENAME", "")


def sources():
    """The package sources of this host's apt, which need not have read their lists yet."""
    lines = apt("apt-get", "indextargets", "--no-release-info", "--format", "$(REPO_URI) $(RELEASE) $(COMPONENT)",
                "Created-By: Packages").splitlines()
    own = {f"{suite()}{part} main" for part in ("", "-updates", "-security")}
    lines = sorted({f"deb {line}\n" for line in lines if line.partition(" ")[2] in own})
    if not lines:
        raise Missing(f"apt has no source of the packages of {suite() or 'this distribution'} here")
    return "".join(lines)


def proxies():
    lines = apt("apt-config", "dump", "--format", "%f \"%v\"%n", "Acquire").splitlines()
    return [f"--aptopt={line}" for line in lines if "::Proxy \"" in line and not line.endswith("\"\"")]
