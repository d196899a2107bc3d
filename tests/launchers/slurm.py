"""Slurm on the two hosts: its controller on the first one, and a daemon on each."""
from hosts import NAMES
from lib import wait_until
from lib.namespace import START_S

# No munge: the daemons trust all in their network, which only this test is in.
CONFIGURATION = """
ClusterName=tfabric
SlurmctldHost=host-a
SlurmUser=root
AuthType=auth/none
CredType=cred/none
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
MpiDefault=none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
SelectType=select/linear
ReturnToService=2
SlurmdParameters=config_overrides
StateSaveLocation=/run/slurmctld
SlurmdSpoolDir=/run/slurmd
SlurmctldPidFile=/run/slurmctld.pid
SlurmdPidFile=/run/slurmd.pid
{nodes}
PartitionName=all Nodes=ALL Default=YES State=UP
"""


def start(pair):
    """From now on srun works on both hosts."""
    nodes = "\n".join(f"NodeName={name} NodeHostname={name} CPUs=2" for name in NAMES)
    configuration = pair.folder / "slurm.conf"
    configuration.write_text(CONFIGURATION.format(nodes=nodes), encoding="utf-8")

    def state():
        sinfo = host_a.shell("sinfo --noheader --Node --format %T")
        return sinfo.text().split() if sinfo.ends_within(START_S) else []

    host_a = pair.hosts[0]
    host_a.start("slurmctld", "-D", "-f", configuration)
    daemons = [host.start("slurmd", "-N", host.name, "-D", "-f", configuration) for host in pair.hosts]
    wait_until(lambda: state() == ["idle"] * len(NAMES), "Slurm's nodes to be idle", START_S, of=daemons)
