"""The metrics that there are: those of docs/prometheus.md, whose table a unit test (unit_tools) compares with what the tool prints."""
import pathlib
import re

PAGE = pathlib.Path(__file__).resolve().parents[2] / "docs/prometheus.md"
ROW = re.compile(r"^\| (`[^|]*`) \| (counter|gauge)[^|]* \| (.*) \|$", re.MULTILINE)
LABELS = {"rail": {"rail"}, "path": {"rail", "peer"}}


def documented():
    """{metric: (its type, its labels)}."""
    found = {}
    for names, kind, text in ROW.findall(PAGE.read_text(encoding="utf-8")):
        more = set(re.findall(r"further label `(\w+)`", text))
        less = set(re.findall(r"`(\w+)`", "".join(re.findall(r"without ((?:`\w+`(?:, | and )?)+)", text))))
        for name in re.findall(r"`(\w+)`", names):
            labels = {"train_job", "rank", "pid"} | LABELS.get(name.split("_")[0], set())
            found[f"tfabric_{name}"] = kind, (labels | more) - less
    return found


def faults_of_expression(name, expression, metrics):
    for function, metric in re.findall(r"(?:\b(\w+)\()?\b(tfabric_\w+)", expression):
        if metric not in metrics:
            yield f"{name}: there is no {metric}"
        elif (metrics[metric][0] == "counter") != (function in ("rate", "increase")):
            yield f"{name}: {metric} is a {metrics[metric][0]}, and stands in {function or 'no function'}"
    for metric, condition in re.findall(r"\b(tfabric_\w+)\{([^}]*)\}", expression):
        unknown = set(re.findall(r"(\w+)[=!]", condition)) - metrics.get(metric, ("", set()))[1]
        if unknown:
            yield f"{name}: {metric} has no label {', '.join(sorted(unknown))}"
