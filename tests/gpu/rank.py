"""One rank of a job of two on one GPU: what tests/gpu/run starts. Needs PyTorch with CUDA.

Each result is checked in every element. Rank 0 prints one line of JSON for each size, and one for the training step.
"""
import argparse
import json
import os
import signal
import sys
import time

import torch
import torch.distributed as dist

MODULUS = 1000  # values stay exact in float32 after a sum over two ranks


class Wrong(Exception):
    pass


def report(**fields):
    if dist.get_rank() == 0:
        print(json.dumps(fields), flush=True)


def require(equal, what, size):
    wrong = int((~equal).sum())
    if wrong:
        raise Wrong(f"{what} of {size} bytes: {wrong} of {equal.numel()} elements are wrong in rank {dist.get_rank()}")


def ramp(count):
    return torch.arange(count, device="cuda", dtype=torch.float32) % MODULUS


def check_collectives(size):
    """All-reduce, all-gather, reduce-scatter, all-to-all, and send with receive, of `size` bytes a rank."""
    rank, count = dist.get_rank(), size // 4
    summed = ramp(count) + rank
    dist.all_reduce(summed)
    require(summed == 2 * ramp(count) + 1, "all-reduce", size)
    mine = ramp(count) + rank
    gathered = torch.full((2 * count,), -1.0, device="cuda")
    dist.all_gather_into_tensor(gathered, mine)
    both = torch.cat([ramp(count), ramp(count) + 1])
    require(gathered == both, "all-gather", size)
    scattered = torch.full((count,), -1.0, device="cuda")
    dist.reduce_scatter_tensor(scattered, both + rank)
    require(scattered == 2 * both[rank * count:(rank + 1) * count] + 1, "reduce-scatter", size)
    exchanged = torch.full((2 * count,), -1.0, device="cuda")
    dist.all_to_all_single(exchanged, torch.cat([mine, mine + 10]))
    require(exchanged == both + 10 * rank, "all-to-all", size)
    received = torch.full((count,), -1.0, device="cuda")
    pair = [dist.P2POp(dist.isend, mine, 1 - rank), dist.P2POp(dist.irecv, received, 1 - rank)]
    for work in dist.batch_isend_irecv(pair):
        work.wait()
    require(received == ramp(count) + (1 - rank), "send and receive", size)


def keep_checking(seconds, smallest, largest):
    """Checks all sizes again and again. Rank 0 decides when it is enough, so that both stop after the same round."""
    end = time.monotonic() + seconds
    rounds, longest = 0, 0.0
    go_on = torch.ones(1, device="cuda")
    while go_on.item() > 0:
        size = smallest
        while size <= largest:
            begin = time.monotonic()
            check_collectives(size)
            torch.cuda.synchronize()
            longest = max(longest, time.monotonic() - begin)
            size *= 4
        rounds += 1
        go_on.fill_(1 if time.monotonic() < end else 0)
        dist.broadcast(go_on, 0)
    report(rounds=rounds, longest_ms=round(longest * 1e3, 1))


def measure_all_reduce(size):
    repeat = 200 if size < 1 << 16 else 40 if size < 1 << 24 else 10
    buffer = torch.zeros(size // 4, device="cuda")
    for _ in range(5):
        dist.all_reduce(buffer)
    torch.cuda.synchronize()
    dist.barrier()
    torch.cuda.synchronize()
    start = time.perf_counter()
    for _ in range(repeat):
        dist.all_reduce(buffer)
    torch.cuda.synchronize()
    each = (time.perf_counter() - start) / repeat
    # With two ranks, NCCL's bus bandwidth of an all-reduce is its size by its time: 2 (n - 1) / n = 1.
    report(bytes=size, us=round(each * 1e6, 1), busbw_gbit=round(size * 8e-9 / each, 2))


def train(steps):
    """Data-parallel training of one layer after the other: the replicas must stay equal, bit by bit."""
    torch.manual_seed(1)
    model = torch.nn.Sequential(*[torch.nn.Linear(2048, 2048) for _ in range(8)]).cuda()
    replica = torch.nn.parallel.DistributedDataParallel(model, device_ids=[0])
    optimizer = torch.optim.SGD(replica.parameters(), lr=1e-3)
    torch.manual_seed(2 + dist.get_rank())
    data = torch.randn(64, 2048, device="cuda")

    def step():
        optimizer.zero_grad(set_to_none=True)
        replica(data).square().mean().backward()
        optimizer.step()

    for _ in range(5):
        step()
    torch.cuda.synchronize()
    start = time.perf_counter()
    for _ in range(steps):
        step()
    torch.cuda.synchronize()
    each = (time.perf_counter() - start) / steps
    parameters = torch.cat([p.detach().flatten() for p in model.parameters()])
    both = torch.empty(2 * parameters.numel(), device="cuda")
    dist.all_gather_into_tensor(both, parameters)
    require(both[:parameters.numel()] == both[parameters.numel():], "replicas", 4 * parameters.numel())
    report(ddp_step_ms=round(each * 1e3, 3), gradient_bytes=4 * parameters.numel())


def be_killed(victim):
    """The victim kills itself in the middle of traffic; the other one must hear of it."""
    buffer = torch.zeros(1 << 20, device="cuda")
    for turn in range(1 << 30):
        if turn == 200 and dist.get_rank() == victim:
            print(json.dumps({"killed_at": time.time()}), flush=True)
            os.kill(os.getpid(), signal.SIGKILL)
        dist.all_reduce(buffer)
        torch.cuda.synchronize()


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--smallest", type=int, required=True, help="bytes a rank, a power of two")
    parser.add_argument("--largest", type=int, required=True)
    parser.add_argument("--steps", type=int, default=0, help="steps of training")
    parser.add_argument("--seconds", type=float, default=0, help="first check all sizes again and again for so long")
    parser.add_argument("--no-times", action="store_true", help="values only")
    parser.add_argument("--victim", type=int, help="this rank is killed")
    args = parser.parse_args()
    torch.cuda.set_device(0)
    dist.init_process_group("nccl", device_id=torch.device("cuda:0"))
    if args.victim is not None:
        be_killed(args.victim)
    if args.seconds:
        keep_checking(args.seconds, args.smallest, args.largest)
    size = args.smallest
    while size <= args.largest:
        check_collectives(size)
        if not args.no_times:
            measure_all_reduce(size)
        size *= 4
    if args.steps:
        train(args.steps)
    report(checked=True, nccl=".".join(map(str, torch.cuda.nccl.version())))
    dist.destroy_process_group()


if __name__ == "__main__":
    try:
        main()
    except Wrong as wrong:
        print(f"wrong: {wrong}", file=sys.stderr, flush=True)
        os._exit(3)  # the other rank waits for this one; destroying the group would wait, too
