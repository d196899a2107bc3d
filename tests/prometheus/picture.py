#!/usr/bin/env -S python3 -B
"""Draws the dashboard for docs/prometheus.md, as SVG, from what Prometheus answers over the recording.

    picture.py          writes docs/night-duty-dashboard.svg anew; needs promtool and prometheus

Some panels, with their titles, units and expressions of packaging/grafana/tfabric.json. The picture ends in the midst of the
recording's first halt, so that the figures of "now" show something.
"""
import math
import pathlib
import sys
import tempfile
import time
from xml.sax.saxutils import escape

sys.path.insert(1, sys.path[0] + "/..")
import dashboard
from lib import scope
from recording import START, STEP_S, Recording
from server import Server

NAME = "night-duty-dashboard.svg"
BEGIN, END = START + 60, START + int(21.5 * 60)  # rates need a minute
FIGURES = ("Processes", "Waiting, cause known", "Not running", "Rails without link")
GRAPHS = ("Bytes a second", "Waiting processes, by cause", "Sent", "Limited by the network", "Sent again", "Round trip",
          "Oldest receive", "Process has not run")
COLUMN, GAP, HEAD, FIGURE_HEIGHT, GRAPH_HEIGHT = 560, 14, 46, 74, 224
LEFT, RIGHT, TOP, BOTTOM = 66, 14, 34, 66  # of a graph's plot: room for its axes, title and legend
MOST_NAMED = 4
COLOURS = ("#3274d9", "#e0752d", "#299c46", "#a352cc", "#e02f44", "#7a5c00", "#0f9bb0", "#8a8a8a")
STYLE = """text { font: 12px Helvetica, Arial, sans-serif; fill: #555 }
.title { font-weight: bold; font-size: 13px; fill: #222 } .head { font-weight: bold; font-size: 17px; fill: #222 }
.figure { font-weight: bold; font-size: 30px } .panel { fill: #fff; stroke: #d8d8de } .grid { stroke: #e8e8ec; fill: none }
.line { fill: none; stroke-width: 1.5; stroke-linejoin: round }"""


def number(value):
    return f"{value:.1f}".removesuffix(".0")


def shown(value, unit):
    """As Grafana writes a value of this unit."""
    if unit == "percentunit":
        return f"{value * 100:.3g} %"
    if unit == "Bps":
        return f"{value / 1e9:.3g} GB/s" if value else "0 B/s"
    if unit == "s":
        for least, factor, name in ((60, 1 / 60, "min"), (1, 1, "s"), (1e-3, 1e3, "ms"), (0, 1e6, "µs")):
            if value >= least:
                return f"{value * factor:.3g} {name}" if value else "0 s"
    return f"{value:.3g}"


def ticks(most, unit):
    """Some four round values from 0 on."""
    if unit == "s" and most > 60:
        step = next(each for each in (30, 60, 120, 300, 600) if most / each <= 5)
    else:
        power = 10 ** math.floor(math.log10(most or 1))
        step = next(factor * power for factor in (0.2, 0.25, 0.5, 1, 2, 2.5) if most / (factor * power) <= 4.5)
    return [index * step for index in range(int(math.ceil(most / step - 1e-9)) + 1)]


class Graph:
    """One panel over time, at a place of the picture."""

    def __init__(self, panel, series, x, y):
        self.panel, self.x, self.y = panel, x, y
        self.series = series  # [(legend, [(time, value)])]
        self.defaults = panel["fieldConfig"]["defaults"]
        self.stacked = "stacking" in self.defaults["custom"]
        self.ticks = ticks(self.most(), self.defaults["unit"])

    def most(self):
        if "max" in self.defaults:
            return self.defaults["max"]
        tops = {}
        for _, points in self.series:
            for at, value in points:
                tops[at] = tops.get(at, 0) + value if self.stacked else max(tops.get(at, 0), value)
        return max(tops.values(), default=0) or 1

    def across(self, at):
        return self.x + LEFT + (at - BEGIN) / (END - BEGIN) * (COLUMN - LEFT - RIGHT)

    def up(self, value):
        room = GRAPH_HEIGHT - TOP - BOTTOM
        return self.y + TOP + room - value / self.ticks[-1] * room

    def axes(self):
        yield f'<rect class="panel" x="{self.x}" y="{self.y}" width="{COLUMN}" height="{GRAPH_HEIGHT}" rx="3"/>'
        yield f'<text class="title" x="{self.x + 12}" y="{self.y + 21}">{escape(self.panel["title"])}</text>'
        for value in self.ticks:
            height = number(self.up(value))
            yield f'<path class="grid" d="M{self.x + LEFT},{height}H{self.x + COLUMN - RIGHT}"/>'
            yield f'<text x="{self.x + LEFT - 6}" y="{number(self.up(value) + 4)}" text-anchor="end">{shown(value, self.defaults["unit"])}</text>'
        for at in range(BEGIN - BEGIN % -300, END + 1, 300):
            clock = time.strftime("%H:%M", time.gmtime(at))
            yield f'<path class="grid" d="M{number(self.across(at))},{number(self.up(self.ticks[-1]))}V{number(self.up(0))}"/>'
            yield f'<text x="{number(self.across(at))}" y="{number(self.up(0) + 16)}" text-anchor="middle">{clock}</text>'

    def line(self, points, colour):
        """Without the points that lie on the line between their neighbours."""
        places = [(number(self.across(at)), number(self.up(value))) for at, value in points if math.isfinite(value)]
        kept = [place for index, place in enumerate(places) if index in (0, len(places) - 1)
                or not places[index - 1][1] == place[1] == places[index + 1][1]]
        return f'<path class="line" stroke="{colour}" d="M{"L".join(",".join(place) for place in kept)}"/>'

    def bars(self):
        below = {}
        for index, (_, points) in enumerate(self.series):
            runs = []  # (first, last, bottom, top) of bars side by side that are alike
            for at, value in points:
                bottom = below.get(at, 0)
                below[at] = bottom + value
                if value and runs and runs[-1][1:] == (at - STEP_S, bottom, below[at]):
                    runs[-1] = (runs[-1][0], at, bottom, below[at])
                elif value:
                    runs.append((at, at, bottom, below[at]))
            for first, last, bottom, top in runs:
                x, y, end = self.across(first - STEP_S / 2), self.up(top), self.across(min(last + STEP_S / 2, END))
                yield (f'<rect x="{number(x)}" y="{number(y)}" width="{number(end - x)}" height="{number(self.up(bottom) - y)}" '
                       f'fill="{COLOURS[index % len(COLOURS)]}" fill-opacity="0.7"/>')

    def legend(self):
        """The series that reach highest, in one row, or two of two."""
        order = sorted(range(len(self.series)), key=lambda index: -max((value for _, value in self.series[index][1]), default=0))
        named = sorted(order[:MOST_NAMED])
        widths = [len(self.series[index][0]) * 6.3 + 34 for index in named]
        fits = sum(widths) < COLUMN - 90
        for place, index in enumerate(named):
            x = self.x + 14 + (sum(widths[:place]) if fits else place % 2 * (COLUMN - 90) / 2)
            y = self.y + GRAPH_HEIGHT - (30 if fits or place < 2 else 12)
            yield f'<rect x="{number(x)}" y="{y - 6}" width="12" height="3" fill="{COLOURS[index % len(COLOURS)]}"/>'
            yield f'<text x="{number(x + 16)}" y="{y}">{escape(self.series[index][0])}</text>'
        if len(self.series) > MOST_NAMED:
            yield f'<text x="{self.x + COLUMN - RIGHT}" y="{self.y + GRAPH_HEIGHT - 12}" text-anchor="end">+ {len(self.series) - MOST_NAMED} more</text>'

    def notes(self, times):
        """What the annotations mark: a shade as long as it lasts."""
        for first, last in times:
            x, top, bottom = self.across(first), self.up(self.ticks[-1]), self.up(0)
            yield (f'<rect x="{number(x)}" y="{number(top)}" width="{number(self.across(last) - x)}" height="{number(bottom - top)}" '
                   'fill="#e02f44" fill-opacity="0.07"/>')
            yield f'<path d="M{number(x)},{number(top)}V{number(bottom)}" stroke="#e02f44" stroke-dasharray="3 3"/>'

    def draw(self, times):
        yield from self.axes()
        yield from self.notes(times)
        if self.stacked:
            yield from self.bars()
        else:
            for index, (_, points) in enumerate(self.series):
                yield self.line(points, COLOURS[index % len(COLOURS)])
        yield from self.legend()


def figure(panel, value, x, y, width):
    steps = panel["fieldConfig"]["defaults"]["thresholds"]["steps"]
    bad = any(step["value"] is not None and value >= step["value"] for step in steps)
    yield f'<rect class="panel" x="{number(x)}" y="{y}" width="{number(width)}" height="{FIGURE_HEIGHT}" rx="3"/>'
    yield f'<text class="title" x="{number(x + 12)}" y="{y + 21}">{escape(panel["title"])}</text>'
    yield f'<text class="figure" x="{number(x + width / 2)}" y="{y + 58}" text-anchor="middle" style="fill:{"#e02f44" if bad else "#299c46"}">{value:.0f}</text>'


def legend_of(target, labels):
    text = target["legendFormat"]
    for name, value in labels.items():
        text = text.replace("{{" + name + "}}", value)
    return text


def draw(server, shown_dashboard):
    panels = {panel["title"]: panel for panel in dashboard.panels_of(shown_dashboard)}

    def series(panel):
        return [(legend_of(target, labels), points) for target in panel["targets"]
                for labels, points in server.over(dashboard.filled(target["expr"]), BEGIN, END, STEP_S)]
    waiting = server.over(dashboard.filled(dict(dashboard.annotations_of(shown_dashboard))["Waiting"]), BEGIN, END, STEP_S)
    times = sorted({(points[0][0], points[-1][0]) for _, points in waiting})
    width = 2 * COLUMN + 3 * GAP
    height = HEAD + FIGURE_HEIGHT + (len(GRAPHS) // 2) * (GRAPH_HEIGHT + GAP) + GAP
    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {width} {height}">', f"<style>{STYLE}</style>",
             f'<rect width="{width}" height="{height}" fill="#f4f5f8"/>',
             f'<text class="head" x="{GAP}" y="30">tfabric</text><text x="{GAP + 76}" y="30">Job: 8812 · Rank: All · Rail: All</text>']
    own = (width - GAP) / len(FIGURES) - GAP
    for index, title in enumerate(FIGURES):
        parts += figure(panels[title], series(panels[title])[0][1][-1][1], GAP + index * (own + GAP), HEAD, own)
    for index, title in enumerate(GRAPHS):
        x, y = GAP + index % 2 * (COLUMN + GAP), HEAD + FIGURE_HEIGHT + GAP + index // 2 * (GRAPH_HEIGHT + GAP)
        parts += Graph(panels[title], series(panels[title]), x, y).draw(times)
    return "\n".join(parts) + "\n</svg>\n"


def main():
    target = pathlib.Path(__file__).resolve().parents[2] / "docs" / NAME
    with tempfile.TemporaryDirectory(prefix="tfabric-picture-") as folder, scope():
        target.write_text(draw(Server(pathlib.Path(folder), Recording().openmetrics()), dashboard.load()), encoding="utf-8")
    print(target)


if __name__ == "__main__":
    main()
