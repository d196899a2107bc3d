"""Two processes with a rail each, joined by a cable."""
from lib.case import case
from lib.namespace import Namespace
from lib.tfabric import STREAM, environment, perf


class Cable:
    """Both in one namespace, whose loopback is their kernels' network. What one process sends leaves by one end of the cable and comes in
    by the other. `addresses`: of a rail, {0} being 1 or 2. `variables`: of both processes."""

    def __init__(self, ends=("a0", "b0"), kind="af_packet", addresses="10.9.0.{0}/24", mtu=1500, queues=1, **variables):
        self.ends, self.kind, self.addresses, self.variables = dict(zip("ab", ends)), kind, addresses, variables
        self.space = Namespace()
        # What these interfaces carry is ours alone.
        self.space.sysctl({"net.ipv6.conf.default.disable_ipv6": 1})
        several = f"numrxqueues {queues} numtxqueues {queues}" if queues > 1 else ""
        self.space.ip(f"link add name {ends[0]} {several} type veth peer name {ends[1]} {several}")
        self.space.plain(*ends)
        self.space.ip(*(f"link set {end} mtu {mtu} up" for end in ends))

    def perf(self, side, where, *words, rail="", before=(), **variables):
        """perf as rank 0 (side a) or 1 (b). `rail`: more keys of its rail."""
        number, end = "ab".index(side), self.ends[side]
        own = {"TFABRIC_LOCK_FOLDER": f"{case.folder}/locks-{side}", "TFABRIC_OBSERVE_DUMP_FOLDER": f"{case.folder}/dumps-{side}",
               "TFABRIC_TCP_RAILS": f"{self.kind}:name={end},device={end},addresses={self.addresses.format(1 + number)}{rail}",
               "TFABRIC_REQUIRED": True, "RANK": number}
        return perf(where, *words, env=environment(**own | self.variables | variables), space=self.space, before=before)

    def pair(self, seconds, words=STREAM, **variables):
        """The listening end as rank 0, and the other one as rank 1, which has these variables, does this for so long, and has begun."""
        server = self.perf("a", "--listen", "--verbose")
        client = self.perf("b", "127.0.0.1", "--verbose", *words, "--time", seconds, **variables)
        client.await_line(" after ")
        return server, client
