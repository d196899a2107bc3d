"""Two hosts, as far as a launcher can see: each has a host name, interfaces, /run and /usr/local of its own.

    host-a: eth0 10.8.0.1, rail0, rail1          eth0s are joined by one switch, the rails by another
    host-b: eth0 10.8.0.2, rail0, rail1

tfabric is installed on each as the tarball's install.sh does it, with two af_packet rails in the file that an administrator has.
"""
import os
import pathlib
import signal

from lib import Namespace, at_end, configuration, run

NAMES = ("host-a", "host-b")
RAILS = 2
CONFIGURATION = "/usr/local/tfabric/tools/config/tfabric.toml"
MAKE = """
set -eu
hostname "$1"
mount --bind "$2" /etc/hosts
mount -t tmpfs run /run
mkdir /run/upper /run/work
mount -t overlay -o lowerdir=/usr/local,upperdir=/run/upper,workdir=/run/work local /usr/local
ln -sfn "$3/libnccl-net.so" /usr/local/lib/libnccl-net.so
ln -sfn libnccl-net.so /usr/local/lib/libnccl-net-tfabric.so
ln -sfn "$3/tfabric" /usr/local/bin/tfabric
mkdir -p "$(dirname "$4")"
cat >"$4"
"""
# Stands for ssh: the other host, with the environment that sshd gives.
SSH = """#!/bin/sh
while :; do
  case $1 in
    -o | -p | -i | -l) shift 2 ;;
    -*) shift ;;
    *) break ;;
  esac
done
case $1 in
{cases}
  *) echo "ssh: no host $1" >&2 && exit 255 ;;
esac
shift
exec nsenter --target $holder --net --uts --mount -- env -i {environment} sh -c "cd && $*"
"""


class Host(Namespace):
    def __init__(self, number, build, folder):
        super().__init__("uts", "mount", "propagation=private")
        self.name, self.number, self.folder = NAMES[number], number, folder
        at_end(self.close)
        run(*self.command("sh", "-c", MAKE, "make", self.name, folder / "hosts", build, CONFIGURATION), text=self.configuration())

    def configuration(self):
        # Without a life-boat the data can only go over the rails.
        rails = [{"name": f"rail{rail}", "kind": "af_packet", "device": f"rail{rail}", "addresses": [f"10.9.0.{1 + RAILS * self.number + rail}/24"]}
                 for rail in range(RAILS)]
        return configuration(*rails, rails__lifeboat=False)

    def plug(self, switch, device, bridge):
        """An interface, with its other end at a bridge of the switch."""
        self.cable(device, f"{self.name}-{device}", switch)
        switch.ip(f"link set {self.name}-{device} master {bridge}")

    def shell(self, line, **how):
        """A user's command line, typed in the job's folder."""
        return self.start("env", "-i", *environment(self.folder), "bash", "-c", f"cd '{self.folder / 'job'}'\n{line}", **how)

    def close(self):
        """Ends all processes of the host: daemons of launchers leave their parents."""
        own = os.readlink(self.path)
        for entry in pathlib.Path("/proc").iterdir():
            try:
                if entry.name.isdecimal() and os.readlink(entry / "ns/net") == own:
                    os.kill(int(entry.name), signal.SIGKILL)
            except (FileNotFoundError, PermissionError, ProcessLookupError):
                pass  # it has ended, or is not ours
        self.holder.end()


def environment(folder):
    """Of a fresh login shell."""
    path = f"{folder}/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
    return [f"PATH={path}", f"HOME={folder}/home", "USER=root", "SHELL=/bin/bash", "TERM=dumb", f"TMPDIR={folder}/tmp",
            # mpirun refuses root otherwise. slurm.conf lies in /etc/slurm elsewhere.
            "OMPI_ALLOW_RUN_AS_ROOT=1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1", f"SLURM_CONF={folder}/slurm.conf"]


class Pair:
    """The two hosts, and what joins them."""

    def __init__(self, build, folder):
        self.folder, self.hosts, self.switch = folder, [], Namespace()
        for name in ("bin", "home", "job/log", "tmp"):
            (folder / name).mkdir(parents=True)
        (folder / "hosts").write_text("127.0.0.1 localhost\n" +
                                      "".join(f"10.8.0.{i + 1} {name}\n" for i, name in enumerate(NAMES)), encoding="utf-8")
        for bridge in ("lan", "fabric"):
            self.switch.bridge(bridge)
        for number in range(len(NAMES)):
            host = Host(number, build, folder)
            self.hosts.append(host)
            host.plug(self.switch, "eth0", "lan")
            host.ip(f"addr add 10.8.0.{number + 1}/24 dev eth0")
            for rail in range(RAILS):
                host.plug(self.switch, f"rail{rail}", "fabric")
        cases = "\n".join(f"  {host.name}) holder={host.holder.pid} ;;" for host in self.hosts)
        quoted = " ".join(f"'{each}'" for each in environment(folder))
        (folder / "bin/ssh").write_text(SSH.format(cases=cases, environment=quoted), encoding="utf-8")
        (folder / "bin/ssh").chmod(0o755)
