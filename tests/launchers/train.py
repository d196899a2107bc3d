#!/usr/bin/env python3
"""Stands for the user's job: one rank of the real NCCL over fakecuda, whose rank and size are those that its launcher has set.

Notes host, launcher's variables and NCCL's in log/RANK.json. job.json in the current folder has the rest.
"""
import json
import os
import pathlib
import socket
import sys

# The innermost first, as in config/launcher.cc.
RANK = (("RANK", "WORLD_SIZE", "LOCAL_RANK"), ("HOROVOD_RANK", "HOROVOD_SIZE", "HOROVOD_LOCAL_RANK"),
        ("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_RANK"),
        ("SLURM_PROCID", "SLURM_NTASKS", "SLURM_LOCALID"))

sys.dont_write_bytecode = True
job = json.loads(pathlib.Path("job.json").read_text(encoding="utf-8"))
sys.path.insert(1, job["tests"])
from lib.nccl import rank_environment

rank, ranks, local_rank = next([os.environ[name] for name in names] for names in RANK if names[0] in os.environ)
note = {"host": socket.gethostname(), "local_rank": int(local_rank), "environment": dict(os.environ)}
pathlib.Path(f"log/{rank}.json").write_text(json.dumps(note), encoding="utf-8")
environment = rank_environment(os.environ) | {key: value for key, value in os.environ.items() if key == "NCCL_NET_PLUGIN"} | {
    "LD_LIBRARY_PATH": ":".join(filter(None, [os.environ.get("LD_LIBRARY_PATH"), job["libraries"]])), "LD_PRELOAD": job["preload"],
    "NCCL_DEBUG_FILE": f"log/nccl{rank}.log", "NCCL_ALGO": "Ring", "NCCL_PROTO": "Simple",
    "FAKECUDA_BUSID": f"00f0:{16 + int(local_rank):02x}:00.0"}
selftest = f"{job['folder']}/nccl_selftest"
os.execve(selftest, [selftest, "--rank", rank, "--ranks", ranks, "--id-file", "log/id", "--mode", "allreduce", "--max-bytes", "256K",
                     "--stall-limit", "200"], environment)
