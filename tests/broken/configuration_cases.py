"""Configurations that are wrong, missing or unreadable, and environments."""
import pathlib

from broken import Table
from lib import Skipped
from namespaced import interface_rail

CASES = Table()
broken = CASES.broken
RDMA_MISSING = "error rdma-(no-library|not-usable)"  # as this machine has libibverbs, and no RDMA device
WRONG = "error config-invalid"


def without_rdma():
    if list(pathlib.Path("/sys/class/infiniband").glob("*")):
        raise Skipped("there are RDMA devices, which tfabric uses where no TCP rail is configured")


@CASES.broken([], network="tcp", job="runs")
def sound(host):
    """A host without a fault, from which all others are made."""
    host.configure(*host.interfaces())


@broken(["error tcp-not-configured", RDMA_MISSING], fix="(export TFABRIC_TCP_RAILS=memif)",
        told="no TCP rail is configured")
def no_configuration(host):
    without_rdma()
    for file in ("/usr/local/tfabric/tools/config/tfabric.toml", "/usr/local/tfabric/config/tfabric.toml"):
        if pathlib.Path(file).exists():
            raise Skipped(f"there is {file}")
    del host.environment["TFABRIC_CONFIG"]


@broken("error tcp-not-configured", fix="TFABRIC_TCP_RAILS=memif", told="no TCP rail is configured")
def no_rails(host):
    """A file without rails, where RDMA is ruled out."""
    host.configure()


@broken("error config-unreadable", fix=r"write it .*, or unset TFABRIC_CONFIG", told="No such file")
def configuration_missing(host):
    host.environment["TFABRIC_CONFIG"] = str(host.folder / "nowhere.toml")


@broken("error config-unreadable", fix=r"(chmod a\+r \S+tfabric.toml)", told="cannot be read .Permission denied")
def configuration_unreadable(host):
    host.configure({"kind": "memif"}, lock_folder="auto").chmod(0o600)
    host.be_nobody()


@broken(WRONG, fix="correct line 2 of .*tfabric.toml", told="tfabric.toml:2")
def not_toml(host):
    path = host.configure({"kind": "memif"})
    path.write_text('transport = "tcp"\nthis is = = no TOML\n', encoding="utf-8")


@broken(WRONG, fix="correct line 3 of .*tfabric.toml", told="did you mean `tcp.flows`")
def unknown_key(host):
    host.configure({"kind": "memif"})
    host.write("tfabric.toml", 'transport = "tcp"\n[tcp]\nflow = 4\n[[tcp.rails]]\nkind = "memif"\n')


@broken([WRONG, WRONG], fix="correct line 4 of .*tfabric.toml", told="memory.hugepages")
def wrong_values(host):
    host.configure({"kind": "memif"})
    host.write("tfabric.toml", 'transport = "tcp"\ntcp.port = 70000\n[memory]\nhugepages = "some"\n'
               '[[tcp.rails]]\nkind = "memif"\n')


@broken(WRONG, fix="(unset TFABRIC_TCP_FLOWS)", told="TFABRIC_TCP_FLOWS is \"many\"")
def wrong_variable(host):
    host.configure({"kind": "memif"})
    host.environment["TFABRIC_TCP_FLOWS"] = "many"


@broken([], network="tcp", job="runs")
def unknown_variable(host):
    """It may belong to something else, so it is only noted."""
    host.configure({"kind": "memif"})
    host.environment["TFABRIC_TCP_FLOW"] = "4"


@broken(WRONG, told="00:05")
def wrong_form_of_pci_address(host):
    host.configure({"kind": "pci", "device": "00:05", "addresses": ["10.9.0.1/24"]}, memory__hugepages="off")


@broken(WRONG, told="rail0")
def two_rails_one_device(host):
    host.interfaces()
    host.configure(interface_rail(0), interface_rail(1, device="rail0"))


@broken(WRONG, told="10.9.0.1")
def two_rails_one_address(host):
    host.interfaces()
    host.configure(interface_rail(0), interface_rail(1, addresses=["10.9.0.1/24"]))


@broken(WRONG, told="10.9.0.0")
def address_of_a_network(host):
    host.interfaces()
    host.configure(interface_rail(0, addresses=["10.9.0.0/24"]), interface_rail(1))


@broken("error tcp-not-configured", network="none", job="is refused", told="NCCL failed in all of 2 ranks")
def required(host):
    """The administrator wants an error rather than NCCL's own network."""
    host.configure(required=True)


@broken("error rdma-(disabled|no-library)", told="RDMA")
def rdma_disabled(host):
    host.configure(transport="rdma", rdma__disable=True)


@broken(RDMA_MISSING, told="RDMA")
def no_rdma_device(host):
    without_rdma()
    host.configure(transport="rdma")


@broken("error nccl-net-other", fix="(unset NCCL_NET)", job="")
def nccl_net_is_another(host):
    host.configure({"kind": "memif"})
    host.environment["NCCL_NET"] = "Socket"


@broken("error nccl-plugin-off", fix="(unset NCCL_NET_PLUGIN)", job="")
def nccl_plugin_is_off(host):
    host.configure({"kind": "memif"})
    host.environment["NCCL_NET_PLUGIN"] = "none"


@broken("warning plugin-not-found", network="tcp", fix=r"(export LD_LIBRARY_PATH=\S+)", job="")
def plugin_not_found(host):
    host.configure({"kind": "memif"})
    del host.environment["LD_LIBRARY_PATH"]
