"""packaging/grafana/tfabric.json: what it has, and whether Grafana would show it as it is meant."""
import json
import re

from lib import TESTS, Failed
from metrics import faults_of_expression

FILE = TESTS.parent / "packaging/grafana/tfabric.json"
SOURCE = {"type": "prometheus", "uid": "${datasource}"}
WIDTH = 24  # columns of Grafana's grid


def load():
    return json.loads(FILE.read_text(encoding="utf-8"))


def panels_of(dashboard):
    """Those that show something, not the headings of rows."""
    return [panel for panel in dashboard["panels"] if panel["type"] != "row"]


def targets_of(dashboard):
    """[(a name, its expression)] of all panels."""
    return [(f"{panel['title']} {target['refId']}", target["expr"]) for panel in panels_of(dashboard) for target in panel["targets"]]


def variables_of(dashboard):
    """{name: (metric with its condition, label)}, but that of the data source."""
    found = {}
    for variable in dashboard["templating"]["list"]:
        if variable["type"] == "query":
            found[variable["name"]] = re.fullmatch(r"label_values\((.*), (\w+)\)", variable["query"]["query"]).groups()
    return found


def annotations_of(dashboard):
    return [(each["name"], each["expr"]) for each in dashboard["annotations"]["list"]]


def filled(expression, interval="1m", **values):
    """As Grafana sends it: `interval` is four scrapes, and a variable without a value is All."""
    for name, value in {"__rate_interval": interval, "train_job": ".*", "rank": ".*", "rail": ".*"}.items():
        expression = re.sub(rf"\${name}\b", values.get(name, value), expression)
    if "$" in expression:
        raise Failed(f"a variable that the dashboard does not have: {expression}")
    return expression


def faults_of_panel(panel):
    title = panel.get("title")
    if not title or not panel.get("description"):
        yield f"panel {panel['id']} ({title}) lacks a title or a description"
    if not panel["fieldConfig"]["defaults"].get("unit"):
        yield f"{title} lacks a unit"
    references = [target["refId"] for target in panel["targets"]]
    if not references or len(set(references)) < len(references):
        yield f"{title}: no target, or two of one refId: {references}"
    for target in panel["targets"]:
        if not target.get("legendFormat"):
            yield f"{title} {target['refId']} lacks a legend"
        if target.get("datasource") != SOURCE:
            yield f"{title} {target['refId']}: the data source is not the variable"
        grouped = re.search(r"by \(([\w, ]+)\)", target["expr"])
        names = set(re.findall(r"\{\{(\w+)\}\}", target["legendFormat"]))
        if names != set(grouped.group(1).split(", ") if grouped else ()):
            yield f"{title}: series differ by {grouped and grouped.group(1)}, the legend names {sorted(names)}"
    if panel.get("datasource") != SOURCE:
        yield f"{title}: the data source is not the variable"


def faults_of_grid(dashboard):
    """Every place of the grid, down to the last panel, belongs to one panel."""
    owners = {}
    for panel in dashboard["panels"]:
        place = panel["gridPos"]
        for x in range(place["x"], place["x"] + place["w"]):
            for y in range(place["y"], place["y"] + place["h"]):
                if (x, y) in owners:
                    yield f"panel {panel['title']} lies on {owners[x, y]}"
                    return
                owners[x, y] = panel["title"]
    if {x for x, _ in owners} != set(range(WIDTH)) or len(owners) != WIDTH * (1 + max(y for _, y in owners)):
        yield f"the panels leave a part of the {WIDTH} columns empty, or reach past them"


def faults_of(dashboard, metrics):
    """`metrics`: of metrics.documented()."""
    identifiers = [panel["id"] for panel in dashboard["panels"]]
    if len(set(identifiers)) < len(identifiers):
        yield f"two panels of one id: {identifiers}"
    yield from faults_of_grid(dashboard)
    for panel in panels_of(dashboard):
        yield from faults_of_panel(panel)
    names = [variable["name"] for variable in dashboard["templating"]["list"]]
    if names != ["datasource", "train_job", "rank", "rail"]:
        yield f"the variables are {names}"
    for each in dashboard["templating"]["list"][1:] + dashboard["annotations"]["list"]:
        if each.get("datasource") != SOURCE:
            yield f"{each['name']}: the data source is not the variable"
    expressions = targets_of(dashboard) + annotations_of(dashboard)
    expressions += [(name, series) for name, (series, _) in variables_of(dashboard).items()]
    for name, expression in expressions:
        yield from faults_of_expression(name, expression, metrics)
