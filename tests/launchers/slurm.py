"""Slurm on the two hosts: its controller on the first one, and a daemon on each."""
import contextlib
import subprocess

from hosts import NAMES
from network import START_S, stop, wait_until

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


@contextlib.contextmanager
def running(pair):
    """Until the end of the block, srun works on both hosts."""
    nodes = "\n".join(f"NodeName={name} NodeHostname={name} CPUs=2" for name in NAMES)
    configuration = pair.folder / "slurm.conf"
    configuration.write_text(CONFIGURATION.format(nodes=nodes), encoding="utf-8")
    daemons = []

    def start(host, *words):
        with open(pair.folder / f"{words[0]}-{host.name}.log", "w", encoding="utf-8") as log:
            daemons.append(host.start(*words, "-D", "-f", configuration, stdout=log, stderr=subprocess.STDOUT))

    def state():
        return host_a.shell("sinfo --noheader --Node --format %T", stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                            text=True).communicate()[0].split()

    host_a = pair.hosts[0]
    try:
        start(host_a, "slurmctld")
        for host in pair.hosts:
            start(host, "slurmd", "-N", host.name)
        wait_until(lambda: state() == ["idle"] * len(NAMES), START_S, "Slurm's nodes to be idle")
        yield
    finally:
        for daemon in reversed(daemons):
            stop(daemon)
