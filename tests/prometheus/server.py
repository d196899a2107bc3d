"""The real Prometheus on loopback, for as long as it is used: over a recording, or over what it scrapes."""
import contextlib
import json
import time
import urllib.error
import urllib.parse
import urllib.request

from lib import TESTS, Failed, Process, free_port, run

ALERTS = TESTS.parent / "packaging/prometheus/tfabric-alerts.yaml"
LIMIT_S = 240
TRIES = 5  # another process may take the port that was free
DIRECTLY = urllib.request.build_opener(urllib.request.ProxyHandler({}))


def promtool(*words, text=None):
    return run("promtool", *words, text=text, limit=LIMIT_S).stdout


def listening(page, *words):
    """A program with `--web.listen-address`, when it answers requests for this page, and its address."""
    for _ in range(TRIES):
        address = f"127.0.0.1:{free_port()}"
        started = Process(*words, f"--web.listen-address={address}")
        end = time.monotonic() + LIMIT_S
        while started.alive() and time.monotonic() < end:
            with contextlib.suppress(OSError):
                # Where another process has the port, it answers, and ours ends.
                if DIRECTLY.open(f"http://{address}/{page}", timeout=10).status == 200 and started.alive():
                    return address
            time.sleep(0.1)
        started.end()
    raise Failed(f"it has not started: {started.shown()}")


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
        self.address = listening("-/ready", "prometheus", f"--config.file={folder}/prometheus.yaml", f"--storage.tsdb.path={folder}/data",
                                 "--storage.tsdb.retention.time=100y", "--query.lookback-delta=10s")

    def get(self, path, **arguments):
        """The data of an answer of its API."""
        address = f"http://{self.address}/api/v1/{path}?{urllib.parse.urlencode(arguments)}"
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
