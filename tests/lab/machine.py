"""One machine: qemu as a child that never outlives this process, the output of the command, and how it ends.

The guest has three channels besides the kernel's console: the command's standard output and standard error, each ended
by a mark that only this machine knows, and reports: `started`, `exit STATUS`, `failed WHY`. All are pipes, and what the
guest reads is a file in memory, so that nothing is left behind in the file system.
"""
import contextlib
import ctypes
import os
import selectors
import signal
import socket
import subprocess
import sys
import time

import stacks
from image import find

TIMED_OUT, FAILED = 124, 125
CONSOLE_BYTES = 1 << 20  # of the kernel's messages that are kept
START_S = 600  # for a machine to start, on a busy host
STACKS_S = 20  # for a kernel to write them to a serial line
GRACE_S = 5  # for the rest of the output, if a process that the command has left behind keeps it open
ALONE_S = 30  # for a command to end once the other machine's has failed, for which it may wait


def die_with_parent():
    ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG


class Output:
    """An output stream of the command; with a prefix, line by line."""

    def __init__(self, target, prefix, mark):
        self.target, self.prefix, self.mark = target, prefix, b"\0" + mark + b"\0"
        self.pending, self.line, self.ended = b"", b"", False

    def take(self, data):
        if self.ended:
            return
        data = self.pending + data
        at = data.find(self.mark)
        self.ended = at >= 0
        if not self.ended:
            # This may be the beginning of a mark.
            at = data.find(b"\0", max(0, len(data) - len(self.mark) + 1))
            at = len(data) if at < 0 else at
        self.pending = data[at:]
        self.write(data[:at])
        if self.ended:
            self.finish()

    def write(self, data):
        if self.prefix:
            *lines, self.line = (self.line + data).split(b"\n")
            data = b"".join(self.prefix + line + b"\n" for line in lines)
        self.target.write(data)
        self.target.flush()

    def finish(self):
        if self.line:
            self.write(b"\n")


class Machine:
    def __init__(self, name, source, options, settings, command, nics):
        """`source` is what it boots: a Kernel (image.py), or a Disk (disk.py)."""
        # The status of the command; or a text: a fault of the machine, or the time is over.
        self.name, self.status, self.fault = name, None, ""
        self.console, self.reports = bytearray(), b""
        self.until, self.started, self.exited_at = time.monotonic() + START_S, False, None
        self.limit, self.deserted = options.timeout, False
        prefix = f"{name}: ".encode() if name else b""
        mark = settings["mark"].encode()
        self.outputs = [Output(target, prefix, mark) for target in (sys.stdout.buffer, sys.stderr.buffer)]
        self.channels = {}
        writers = [self.pipe(take) for take in
                   (self.outputs[0].take, self.outputs[1].take, self.take_report, self.take_console)]
        words, sockets = nics
        self.monitor, monitored = socket.socketpair()
        monitored = monitored.detach()
        self.inherited = [*writers, *source.descriptors, monitored]
        self.sockets, self.restarts = sockets, source.restarts
        self.words = arguments(options, writers, monitored) + words
        self.words += source.arguments(options, settings, command, self.file_of)
        self.messages = writers[3]
        self.start()

    def file_of(self, content):
        """A path at which qemu reads it."""
        file = os.memfd_create("lab")
        with open(file, "wb", closefd=False) as stream:
            stream.write(content)
        self.inherited.append(file)
        return f"/dev/fd/{file}"

    def start(self):
        """qemu ends when the guest restarts, and a new one goes on, since its translated code slows it down."""
        # qemu's messages go where the kernel's go, since they explain why a machine has failed.
        self.process = subprocess.Popen(
            self.words, stdin=subprocess.DEVNULL, stdout=self.messages, stderr=self.messages,
            pass_fds=[*self.inherited, *(end.fileno() for end in self.sockets)], preexec_fn=die_with_parent)
        if not self.restarts:
            self.close()

    def interrupt(self):
        """Makes the guest write where it waits, which ends it."""
        self.restarts = False
        with contextlib.suppress(BrokenPipeError):  # qemu has just ended
            self.monitor.send(b"nmi\n")
        until = time.monotonic() + STACKS_S
        while self.process.poll() is None and time.monotonic() < until:
            self.drain()
            time.sleep(0.1)
        self.drain()

    def close(self):
        for descriptor in self.inherited:
            os.close(descriptor)
        for end in self.sockets:
            end.close()
        self.inherited, self.sockets = [], []

    def pipe(self, take):
        reader, writer = os.pipe()
        os.set_blocking(reader, False)
        self.channels[reader] = take
        return writer

    def take_console(self, data):
        self.console += data
        del self.console[:-CONSOLE_BYTES]

    def take_report(self, data):
        *lines, self.reports = (self.reports + data).split(b"\n")
        for line in lines:
            word, _, rest = line.decode(errors="replace").partition(" ")
            if word == "started":
                self.started, self.until = True, time.monotonic() + self.limit
            elif word == "failed":
                self.fail(rest)
            elif word == "exit" and self.status is None:
                self.exited_at, self.status = time.monotonic(), int(rest)

    def take(self, reader):
        """False: the channel has ended."""
        data = os.read(reader, 65536)
        if data:
            self.channels[reader](data)
        return bool(data)

    def drain(self):
        for reader in self.channels:
            try:
                while self.take(reader):
                    pass
            except BlockingIOError:
                pass

    def console_text(self):
        return self.console.decode(errors="replace").replace("\r", "")

    def fail(self, why):
        text = self.console_text()
        tail = stacks.before(text)[-3000:].strip() or "its console is empty"
        self.status, self.fault = FAILED, "\n".join([f"the machine failed: {why}", tail, *stacks.summary(text)])

    def time_out(self):
        self.interrupt()
        where = stacks.summary(self.console_text()) or ["  the machine does not tell where it is"]
        limit = f"{ALONE_S} s of the other's failure" if self.deserted else f"{self.limit} s"
        self.status, self.fault = TIMED_OUT, "\n".join([f"not done within {limit}:", *where])

    def desert(self):
        """Called when the command of the other machine has failed."""
        if self.started and not self.deserted and self.status is None:
            self.until, self.deserted = min(self.until, time.monotonic() + ALONE_S), True

    def done(self):
        now = time.monotonic()
        if self.status is None and self.process.poll() is not None:
            self.drain()
        if self.status is None and self.process.returncode == 0 and self.restarts:
            self.start()
        if self.status is None and self.process.returncode is not None:
            self.fail(f"qemu ended with exit code {self.process.returncode}")
        elif self.status is None and now > self.until and not self.started:
            self.interrupt()
            self.fail(f"it has not started within {START_S} s")
        elif self.status is None and now > self.until:
            self.time_out()
        if self.exited_at is None:
            return self.status is not None
        return all(output.ended for output in self.outputs) or now > self.exited_at + GRACE_S

    def stop(self):
        """Removes the machine. What it wrote to a shared folder stays, since the guest has synced it."""
        self.process.kill()
        self.process.wait()
        self.close()
        self.monitor.close()
        for output in self.outputs:
            output.finish()


def arguments(options, writers, monitor):
    # With erms, the guest's kernel and libc would move and clear memory by string instructions on bytes, which qemu emulates byte
    # by byte.
    words = [find("qemu-system-x86_64"), "-machine", "q35", "-accel", "tcg,thread=multi", "-cpu", "max,-erms",
             "-smp", str(options.cpus), "-m", str(options.memory), "-nodefaults", "-no-user-config", "-display", "none",
             "-no-reboot"]
    if options.iommu:
        # VFIO needs an IOMMU that remaps interrupts.
        words += ["-device", "intel-iommu,intremap=on,caching-mode=on,aw-bits=48"]
    words += ["-device", "virtio-serial-pci"]
    for index, writer in enumerate(writers):
        words += ["-chardev", f"file,id=c{index},path=/dev/fd/{writer}"]
        words += ["-serial", f"chardev:c{index}"] if index == 3 else \
            ["-device", f"virtserialport,chardev=c{index},nr={index + 1}"]
    words += ["-chardev", f"socket,id=monitor,fd={monitor}", "-mon", "chardev=monitor"]
    mounts = [("host", "/", ",readonly=on,multidevs=remap")]
    if options.share:
        mounts.append(("share", options.share, ""))
    for tag, path, more in mounts:
        words += ["-fsdev", f"local,id={tag},path={path},security_model=none{more}",
                  "-device", f"virtio-9p-pci,fsdev={tag},mount_tag={tag}"]
    return words


def await_all(machines):
    """Runs until all machines are done, or one has failed. Returns the exit status."""
    with selectors.DefaultSelector() as selector:
        for machine in machines:
            for reader in machine.channels:
                selector.register(reader, selectors.EVENT_READ, machine)
        while not all([machine.done() for machine in machines]) and not any(machine.fault for machine in machines):
            if any(machine.status for machine in machines):
                for machine in machines:
                    machine.desert()
            for key, _ in selector.select(timeout=0.2):
                if not key.data.take(key.fd):
                    selector.unregister(key.fd)
    if any(machine.status == TIMED_OUT for machine in machines):
        for machine in machines:
            if machine.status is None:
                machine.time_out()
    # A command that has failed is the reason why the other was ended; otherwise a machine has failed.
    machines = [machine for machine in machines if machine.status and not machine.fault] or \
        [machine for machine in machines if machine.fault] or machines
    return next((machine.status for machine in machines if machine.status), 0)
