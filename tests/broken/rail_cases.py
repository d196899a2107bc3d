"""Rails that cannot be used: interfaces, sockets, rights, memory, processes that have them."""
import glob
import os
import socket

from broken import Table, both
from lib import TESTS, Skipped, at_end
from lib.xdp_program import need_af_xdp
from namespaced import interface_rail

CASES = Table()
broken = CASES.broken


# --- interfaces

@broken(both("error interface-missing"), fix="network host", told="rail[01]")
def interface_missing(host):
    host.configure(interface_rail(0), interface_rail(1))


@broken(both("error interface-down"), fix=r"as root: (ip link set \S+ up)$", told="is down")
def interface_down(host):
    rails = host.interfaces()
    for rail in rails:
        host.run("ip", "link", "set", rail["device"], "down")
    host.configure(*rails)


@broken("error interface-down", fix=r"as root: (ip link set rail1 up)$", told="rail1 is down")
def one_interface_down(host):
    """Both ranks step aside, though one of them has the other rail."""
    rails = host.interfaces()
    host.run("ip", "link", "set", "rail1", "down")
    host.configure(*rails)


@broken("error link-down", fix="cable", told="rail1 .*no link")
def rail_down(host):
    """The interface is up, and the other end of its cable is not."""
    rails = host.interfaces()
    host.run("ip", "link", "set", "to-rail1", "down")
    host.configure(*rails)


@broken(both("error interface-mtu-smaller"), fix=r"as root: (ip link set \S+ mtu 9000)$", told="mtu")
def mtu_above_the_interfaces(host):
    host.interfaces()
    host.configure(interface_rail(0, mtu=9000), interface_rail(1, mtu=9000))


# --- AF_XDP

def xdp_rails(host, **how):
    host.interfaces(**how)
    host.configure(interface_rail(0, kind="af_xdp"), interface_rail(1, kind="af_xdp"))


@broken(both("error interface-mtu-larger"), fix=r"as root: (ip link set \S+ mtu 3502)$", told="MTU of 9000")
def mtu_too_large_for_af_xdp(host):
    xdp_rails(host, mtu=9000)


@broken(both("error interface-queues"), fix=r"as root: (ethtool -L \S+ rx 1)$", told="receives by 2 queues")
def more_queues_than_engines(host):
    xdp_rails(host, queues=2)


@broken(both("error interface-xdp-program"), fix=r", as root: ip link set \S+ xdp off$", told="XDP program")
def strangers_xdp_program(host):
    need_af_xdp()
    xdp_rails(host)
    for number in range(2):
        host.start([TESTS / "lib/xdp_program.py", f"rail{number}"], host.environment).await_line("attached")


@broken(both("error capability-missing"), fix="--cap-add NET_ADMIN", told="NET_ADMIN")
def no_right_to_af_xdp(host):
    xdp_rails(host)
    host.drop_rights("net_admin")


# --- addresses and NICs

@broken("error address-on-kernel", fix=r"as root: (ip address del 10.9.0.2/24 dev rail1);", told="10.9.0.2")
def address_of_the_kernel_too(host):
    rails = host.interfaces()
    host.run("ip", "address", "add", "10.9.0.2/24", "dev", "rail1")
    host.configure(*rails)


@broken("error pci-no-such-function", told="00ff:ff:1f.7")
def no_such_pci_function(host):
    if not os.path.isdir("/sys/bus/pci/drivers/vfio-pci"):
        CASES["no_such_pci_function"].finds = ["error pci-no-such-function", "error vfio-not-loaded"]
    host.configure({"kind": "pci", "device": "00ff:ff:1f.7", "addresses": ["10.9.0.1/24"]}, memory__hugepages="off",
                   tcp__rails_per_process="all")


# --- rights

@broken(both("error capability-missing"), fix="--cap-add NET_RAW", told="rail")
def no_right_to_raw_sockets(host):
    host.configure(*host.interfaces())
    host.drop_rights("net_raw")


@broken(both("error capability-missing"), fix="--cap-add NET_ADMIN", told="rail")
def no_right_to_make_a_tap(host):
    host.configure(*taps())
    host.drop_rights("net_admin")


@broken(both("error tun-missing"), fix="--device /dev/net/tun", told="rail")
def tun_missing(host):
    host.configure(*taps())
    host.hide("/dev/net")


def taps():
    return [{"name": f"rail{number}", "kind": "tap", "device": f"tap{number}",
             "addresses": [f"10.9.0.{number + 1}/24"]}
            for number in range(2)]


# --- sockets

def memif(folder, role="server"):
    return [{"name": f"rail{number}", "kind": "memif", "device": f"{folder}/{number}.sock", "role": role,
             "addresses": [f"10.9.0.{number + 1}/24"]} for number in range(2)]


@broken(both("error socket-folder-missing"), fix="^(mkdir -p [^;]+);", told="rail[01]")
def socket_folder_missing(host):
    host.configure(*memif(host.folder / "sockets"))


@broken(both("error socket-folder-denied"), fix=r"^(chown \d+ [^,]+),", told="rail[01]")
def socket_folder_denied(host):
    folder = host.folder / "sockets"
    folder.mkdir(mode=0o755)
    host.configure(*memif(folder), lock_folder="auto")
    host.be_nobody()


@broken(both("warning socket-missing"), fix='role = "server"', network="tcp", told="rail[01]")
def other_end_missing(host):
    host.configure(*memif(host.folder, role="client"))


@broken(both("error socket-denied"), fix=r"(chmod a\+rw \S+)$", told="rail")
def socket_denied(host):
    for number in range(2):
        end = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        end.bind(f"{host.folder}/{number}.sock")
        end.listen()
        os.chmod(f"{host.folder}/{number}.sock", 0o600)
        at_end(end.close)
    host.configure(*memif(host.folder, role="client"), lock_folder="auto")
    host.be_nobody()


@broken("error lock-folder-denied", fix=r"^(chown \d+ [^,]+),", told="locks")
def lock_folder_denied(host):
    folder = host.folder / "locks"
    folder.mkdir(mode=0o755)
    host.configure(*memif(host.folder / "sockets"), lock_folder=str(folder))
    (host.folder / "sockets").mkdir()
    os.chmod(host.folder / "sockets", 0o777)
    host.be_nobody()


@broken("error lock-folder-denied", fix=r"^(install -d -m 700 -o \d+ [^,]+),", told="locks")
def lock_folder_cannot_be_made(host):
    (host.folder / "sockets").mkdir()
    os.chmod(host.folder / "sockets", 0o777)
    host.configure(*memif(host.folder / "sockets"))
    host.be_nobody()


# --- processes

@broken(both("error rail-leased"), fix=r"`(kill \d+)`", told="process \\d+ \\(tfabric\\) has it")
def rails_leased(host):
    rails = host.interfaces()
    host.occupy(*rails)
    host.configure(*rails)


@broken("error rails-too-few", fix="fewer processes", options=["--ranks", "4"], told="run at most 2 processes")
def more_ranks_than_rails(host):
    host.configure(*host.interfaces())
    host.environment |= {"LOCAL_RANK": "0", "LOCAL_WORLD_SIZE": "4"}


# --- memory

def eight_memifs():
    return [{"name": f"m{number}", "kind": "memif"} for number in range(8)]


@broken("error memory-budget-too-small", fix=r"memory.budget_mib = \d+,", told="memory.budget_mib")
def budget_too_small(host):
    host.configure(*eight_memifs(), memory__budget_mib=100)


@broken("error hugepages-(none|too-few)", fix=r"as root, for one process: echo \d+ > /sys/kernel/mm/hugepages/",
        told="hugepages")
def hugepages_required(host):
    free = sum(int(open(f"{path}/free_hugepages", encoding="utf-8").read()) * int(path.rsplit("-", 1)[1][:-2])
               for path in glob.glob("/sys/kernel/mm/hugepages/hugepages-*")) // 1024
    if free > 500:
        raise Skipped(f"{free} MiB of hugepages are free")
    host.configure(*eight_memifs(), memory__hugepages="required")


@broken("error cgroup-memory-too-small", fix="raise it", told="control group")
def memory_of_the_control_group(host):
    roots = [("/sys/fs/cgroup/memory", "memory.limit_in_bytes"), ("/sys/fs/cgroup", "memory.max")]
    parent = next(((root, limit) for root, limit in roots if os.path.exists(f"{root}/{limit}")
                   or "memory" in read(f"{root}/cgroup.subtree_control")), None)
    if not parent:
        raise Skipped("no control group of memory is to be seen")
    group = f"{parent[0]}/tfabric-broken-{os.getpid()}"
    try:
        os.mkdir(group)
        with open(f"{group}/{parent[1]}", "w", encoding="utf-8") as file:
            file.write(str(500 << 20))
    except OSError as error:
        raise Skipped(f"no control group can be made: {error}") from error
    at_end(os.rmdir, group)
    host.configure(*eight_memifs())
    host.prefix = ["sh", "-c", f'echo $$ > {group}/cgroup.procs && exec "$@"', "sh"]


def read(path):
    try:
        with open(path, encoding="utf-8") as file:
            return file.read()
    except OSError:
        return ""
