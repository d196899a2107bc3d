"""The real Prometheus on loopback, for as long as it is used: over a recording, or over what it scrapes."""
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


class Process:
    """A program that runs until close()."""

    def __init__(self, words, log, **how):
        self.address = None
        with log.open("w", encoding="utf-8") as file:
            self.process = subprocess.Popen(list(map(str, words)), stdout=file, stderr=subprocess.STDOUT, preexec_fn=die_with_parent, **how)

    @classmethod
    def listening(cls, words, log, page):
        """With `--web.listen-address`, when it answers requests for this page."""
        for _ in range(TRIES):
            with socket.socket() as chosen:
                chosen.bind(("127.0.0.1", 0))
                address = f"127.0.0.1:{chosen.getsockname()[1]}"
            started = cls([*words, f"--web.listen-address={address}"], log)
            started.address = address
            end = time.monotonic() + LIMIT_S
            while started.process.poll() is None and time.monotonic() < end:
                with contextlib.suppress(OSError):
                    # Where another process has the port, it answers, and ours ends.
                    if DIRECTLY.open(f"http://{address}/{page}", timeout=10).status == 200 and started.process.poll() is None:
                        return started
                time.sleep(0.1)
            started.close()
        raise Failed(f"{words[0]} has not started:\n{log.read_text(encoding='utf-8', errors='replace')}")

    def close(self):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()


class Server:
    """`openmetrics`: text that its blocks are made of. `scrape`: {job: address}, each once a second."""

    def __init__(self, folder, openmetrics=None, scrape=None):
        if openmetrics is not None:
            text = folder / "recording.om"
            text.write_text(openmetrics, encoding="utf-8")
            promtool("tsdb", "create-blocks-from", "openmetrics", text, folder / "data")
        jobs = [{"job_name": name, "static_configs": [{"targets": [address]}]} for name, address in (scrape or {}).items()]
        # JSON is YAML. With the rules: they must load.
        settings = {"global": {"scrape_interval": "1s"}, "rule_files": [str(ALERTS)], "scrape_configs": jobs}
        (folder / "prometheus.yaml").write_text(json.dumps(settings), encoding="utf-8")
        # The blocks are old. A series ends with its last sample, as it does where a scrape no longer has it.
        words = ["prometheus", f"--config.file={folder}/prometheus.yaml", f"--storage.tsdb.path={folder}/data", "--storage.tsdb.retention.time=100y",
                 "--query.lookback-delta=10s"]
        self.process = Process.listening(words, folder / "prometheus.log", "-/ready")

    def get(self, path, **arguments):
        """The data of an answer of its API."""
        address = f"http://{self.process.address}/api/v1/{path}?{urllib.parse.urlencode(arguments)}"
        try:
            with DIRECTLY.open(address, timeout=LIMIT_S) as answer:
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
        self.process.close()
