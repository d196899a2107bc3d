"""The real Prometheus over a recording, on loopback, for as long as it is used."""
import contextlib
import json
import pathlib
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.parse
import urllib.request

TESTS = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(TESTS / "interop"))
# pylint: disable=wrong-import-position
from network import Failed, die_with_parent

ALERTS = TESTS.parent / "packaging/prometheus/tfabric-alerts.yaml"
LIMIT_S = 240
TRIES = 5  # another process may take the port that was free
DIRECTLY = urllib.request.build_opener(urllib.request.ProxyHandler({}))


def promtool(*words, text=None):
    done = subprocess.run(["promtool", *map(str, words)], input=text, capture_output=True, text=True, timeout=LIMIT_S, check=False)
    if done.returncode:
        raise Failed(f"promtool {' '.join(map(str, words))}: exit status {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout


class Server:
    def __init__(self, folder, openmetrics):
        self.folder = folder
        text = folder / "recording.om"
        text.write_text(openmetrics, encoding="utf-8")
        promtool("tsdb", "create-blocks-from", "openmetrics", text, folder / "data")
        # With the rules: they must load.
        (folder / "prometheus.yaml").write_text(f"rule_files: [{json.dumps(str(ALERTS))}]\n", encoding="utf-8")
        for _ in range(TRIES):
            if self.start():
                return
        raise Failed(f"Prometheus has not started:\n{self.log()}")

    def log(self):
        return (self.folder / "log").read_text(encoding="utf-8", errors="replace")

    def start(self):
        with socket.socket() as chosen:
            chosen.bind(("127.0.0.1", 0))
            self.address = f"127.0.0.1:{chosen.getsockname()[1]}"
        # The blocks are old. A series ends with its last sample, as it does where a scrape no longer has it.
        words = [f"--config.file={self.folder}/prometheus.yaml", f"--storage.tsdb.path={self.folder}/data", "--storage.tsdb.retention.time=100y",
                 "--query.lookback-delta=10s", f"--web.listen-address={self.address}"]
        with (self.folder / "log").open("w", encoding="utf-8") as log:
            self.process = subprocess.Popen(["prometheus", *words], stdout=log, stderr=subprocess.STDOUT, preexec_fn=die_with_parent)
        end = time.monotonic() + LIMIT_S
        while self.process.poll() is None and time.monotonic() < end:
            # Of another process at this port: it has no such page, or is none of Prometheus'.
            with contextlib.suppress(OSError, ValueError):
                with DIRECTLY.open(f"http://{self.address}/-/ready", timeout=10) as answer:
                    if answer.status == 200 and "Server is ready to receive web requests" in self.log():
                        return True
            time.sleep(0.1)
        self.close()
        return False

    def get(self, path, **arguments):
        """The data of an answer of its API."""
        try:
            with DIRECTLY.open(f"http://{self.address}/api/v1/{path}?{urllib.parse.urlencode(arguments)}", timeout=LIMIT_S) as answer:
                return json.load(answer)["data"]
        except urllib.error.HTTPError as error:
            raise Failed(f"{path} {arguments}: {error.read().decode(errors='replace')}") from error

    def over(self, expression, start, end, step):
        """Series of a time: [(labels, [(time, value)])]."""
        found = self.get("query_range", query=expression, start=start, end=end, step=step)["result"]
        return [(series["metric"], [(at, float(value)) for at, value in series["values"]]) for series in found]

    def at(self, expression, when):
        """Labels of the series that an expression has at a moment."""
        return [series["metric"] for series in self.get("query", query=expression, time=when)["result"]]

    def values(self, label, series, start, end):
        return self.get(f"label/{label}/values", start=start, end=end, **{"match[]": series})

    def close(self):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
