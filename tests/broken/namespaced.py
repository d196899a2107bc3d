"""A host in a network namespace: interfaces rail0 and rail1 for AF_PACKET and AF_XDP rails, joined by a bridge."""
import pathlib
import tempfile

from broken import Host
from lib import Namespace, Skipped, at_end

NOBODY = 65534


class NamespacedHost(Host):
    def __init__(self, build):
        place = tempfile.TemporaryDirectory(prefix="tfabric-broken-")
        at_end(place.cleanup)
        folder = pathlib.Path(place.name)
        folder.chmod(0o755)
        super().__init__(build, folder)
        self.space = Namespace()

    def enter(self, *words):
        return self.space.command(*words)

    # --- the pieces of hosts

    def interfaces(self, count=2, mtu=1500, queues=1):
        """rail0 … at a bridge, of so many receive queues each. Returns their rails."""
        run = self.run
        run("ip", "link", "add", "bridge", "type", "bridge")
        run("ip", "link", "set", "bridge", "mtu", mtu, "up")
        for number in range(count):
            name = f"rail{number}"
            # The indexes lie far apart for the reason that tests/rails/run names.
            several = ["numrxqueues", queues] if queues > 1 else []
            run("ip", "link", "add", name, "index", (number + 1) << 12, "mtu", mtu, *several, "type", "veth", "peer", "name",
                f"to-{name}", "mtu", mtu)
            self.space.plain(name)
            self.space.plain(f"to-{name}")
            run("ip", "link", "set", f"to-{name}", "master", "bridge", "up")
            run("ip", "link", "set", name, "up")
        return [interface_rail(number) for number in range(count)]

    def drop_rights(self, *capabilities):
        """Commands run as root without these capabilities."""
        lacking = ",".join(f"-{each}" for each in capabilities)
        self.prefix = ["setpriv", "--bounding-set", lacking, "--inh-caps", lacking]

    def be_nobody(self):
        """Commands are run by a user without rights, who can read the programs."""
        self.prefix = ["setpriv", "--reuid", NOBODY, "--regid", NOBODY, "--clear-groups"]
        self.environment["HOME"] = "/nonexistent"
        try:
            self.run(*self.prefix, "test", "-x", self.build / "tfabric")
        except Exception as error:
            raise Skipped(f"other users cannot run what lies in {self.build}") from error

    def hide(self, folder):
        """Check and the job see an empty folder in its place."""
        try:
            self.run("unshare", "--mount", "true")
        except Exception as error:
            raise Skipped("mount namespaces cannot be made here") from error
        self.prefix = ["unshare", "--mount", "sh", "-c", f'mount -t tmpfs none {folder} && exec "$@"', "sh"]

    def pair(self, first, second, **keys):
        """Each rail is a host of its own for check; the job's two ranks have one each."""
        one = self.configure(first, name="one.toml", **keys)
        other = self.configure(second, name="other.toml", **keys)
        self.configure(first, second, **keys)
        self.check_environments = [{"TFABRIC_CONFIG": str(one)}, {"TFABRIC_CONFIG": str(other)}]


def interface_rail(number, **more):
    return {"name": f"rail{number}", "kind": "af_packet", "device": f"rail{number}",
            "addresses": [f"10.9.0.{number + 1}/24"]} | more
