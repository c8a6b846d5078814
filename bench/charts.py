# /// script
# requires-python = ">=3.9"
# dependencies = ["matplotlib>=3.7", "pillow"]
# ///
"""Draws the charts of README from the results of the benchmarks.

    uv run bench/charts.py

or, where matplotlib is installed, python3 bench/charts.py. It reads what bench/table.exs and
bench/server.exs have written with --save, bench/results/contenders.csv and bench/results/server.csv,
and writes docs/images/*.svg and *.png, each for light and for dark pages. Other folders can be given:
charts.py RESULTS IMAGES.
"""

import csv
import io
import re
import sys
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator
from PIL import Image

ROOT = Path(__file__).resolve().parent.parent

# Blue, vermilion and green of Okabe and Ito, who chose them for all kinds of colour vision; lighter
# on dark.
THEMES = {
    "light": {
        "page": "#ffffff",
        "text": "#1f2328",
        "quiet": "#59636e",
        "grid": "#e4e8ec",
        "muted": "#b3bac2",
        "ours": "#0068b0",
        "ours, half": "#7fb3d9",
        "bandit": "#cf5200",
        "nif": "#00835f",
    },
    "dark": {
        "page": "#0d1117",
        "text": "#e6edf3",
        "quiet": "#9198a1",
        "grid": "#21262d",
        "muted": "#626b75",
        "ours": "#58b4f5",
        "ours, half": "#2c6c9e",
        "bandit": "#ff8a3d",
        "nif": "#2cc295",
    },
}

# Which contenders stand out, and how they are drawn. The others are all grey.
HIGHLIGHTED = {
    "BanditNative": ("ours", "o"),
    "Bandit": ("bandit", "s"),
    "String.valid?/1": ("bandit", "s"),
    "first Rust NIF": ("nif", "^"),
}


def read(file):
    """The lines of a file, and what its first lines say of the machine and the versions."""
    lines = file.read_text(encoding="utf-8").splitlines()
    environment = dict(line[2:].split(": ", 1) for line in lines if line.startswith("# "))
    return list(csv.DictReader(line for line in lines if not line.startswith("# "))), environment


def series(rows, function, text):
    """{contender: [(bytes, ns)]}"""
    result = {}
    for row in rows:
        if row["function"] == function and row["input"] == text:
            point = (int(row["bytes"]), float(row["ns"]))
            result.setdefault(row["contender"], []).append(point)
    return result


def byte_count(value, _position=None):
    for limit, unit in ((1e6, "MB"), (1e3, "kB")):
        if value >= limit:
            return f"{value / limit:g} {unit}"
    return f"{value:g} B"


def duration(value, _position=None):
    for limit, unit in ((1e9, "s"), (1e6, "ms"), (1e3, "µs")):
        if value >= limit:
            return f"{value / limit:g} {unit}"
    return f"{value:g} ns"


def throughput(value, _position=None):
    return f"{value:g} GB/s"


def draw_lines(axes, theme, contenders, value, ticks, formatter, title):
    """A line for each contender over the size, both on logarithmic scales."""
    axes.set_xscale("log")
    axes.set_yscale("log")
    for name, points in contenders.items():
        colour, marker = HIGHLIGHTED.get(name, ("muted", None))
        axes.plot(
            [size for size, _ in points],
            [value(size, ns) for size, ns in points],
            color=theme[colour],
            marker=marker,
            markersize=4.5,
            linewidth=2.2 if name == "BanditNative" else 1.7 if marker else 1.1,
            zorder=4 if name == "BanditNative" else 3 if marker else 2,
        )
    axes.set_title(title, loc="left", fontsize=10, color=theme["text"], pad=8)
    axes.xaxis.set_major_locator(FixedLocator([10, 1e4, 1e7]))
    axes.xaxis.set_major_formatter(FuncFormatter(byte_count))
    axes.yaxis.set_major_locator(FixedLocator(ticks))
    axes.yaxis.set_major_formatter(FuncFormatter(formatter))
    plain(axes, theme)
    axes.grid(color=theme["grid"], linewidth=0.8)


def plain(axes, theme):
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_minor_locator(NullLocator())
    axes.tick_params(colors=theme["quiet"], labelsize=8.5, length=0)
    axes.set_axisbelow(True)
    axes.set_facecolor(theme["page"])
    for spine in axes.spines.values():
        spine.set_visible(False)


def label_lines(axes, theme, contenders, value, names=lambda name: name):
    """The names at the lines' ends, moved apart where they would overlap."""
    figure = axes.figure
    figure.canvas.draw()
    width, height = axes.get_window_extent().size
    to_pixels = axes.transData.transform
    ends = []
    for name, points in contenders.items():
        size, ns = points[-1]
        ends.append([to_pixels((size, value(size, ns)))[1], name, (size, value(size, ns))])
    ends.sort()

    # Down from the top, up from the bottom: what is left in between is enough for all.
    gap = 13.5 * figure.dpi / 100
    places = [end[0] for end in ends]
    for _ in range(200):
        for i in range(len(places) - 1):
            overlap = gap - (places[i + 1] - places[i])
            if overlap > 0.01:
                places[i] -= overlap / 2
                places[i + 1] += overlap / 2
    bottom = axes.get_window_extent().y0
    shift = max(0, bottom - gap / 3 - places[0])
    places = [place + shift for place in places] if shift else places

    for (_, name, point), place in zip(ends, places):
        colour, marker = HIGHLIGHTED.get(name, ("quiet", None))
        axes.annotate(
            names(name),
            xy=point,
            xycoords="data",
            xytext=(1 + 18 / width, (place - bottom) / height),
            textcoords="axes fraction",
            fontsize=8.8 if marker else 8,
            color=theme[colour],
            va="center",
            fontweight="bold" if name == "BanditNative" else "normal",
            arrowprops={
                "arrowstyle": "-",
                "relpos": (0, 0.5),
                "color": theme["grid" if not marker else colour],
                "linewidth": 0.7,
                "shrinkA": 1,
                "shrinkB": 3,
            },
            annotation_clip=False,
        )


def footer(figure, theme, environment):
    environment = {"bandit": "none", **environment}
    command = environment["command"]
    figure.text(
        0.012,
        0.018,
        "{cpu}, {schedulers} schedulers · Elixir {elixir}, OTP {otp} · Bandit {bandit} · "
        "bandit_native {bandit_native}\n{command}".format(
            **{**environment, "command": command[command.index("mix run") :]}
        ),
        fontsize=7.5,
        color=theme["quiet"],
        va="bottom",
        linespacing=1.5,
    )


def figure_of(theme, height, title, subtitle=""):
    figure = plt.figure(figsize=(8.3, height), facecolor=theme["page"])
    figure.text(
        0.012,
        1 - 0.14 / height,
        title,
        fontsize=11.5,
        fontweight="bold",
        color=theme["text"],
        va="top",
    )
    figure.text(0.012, 1 - 0.38 / height, subtitle, fontsize=9, color=theme["quiet"], va="top")
    return figure


def nanoseconds(_size, ns):
    return ns


def gigabytes_a_second(size, ns):
    return size / ns


def masking(theme, rows, environment):
    contenders = series(rows, "ws_mask", "bytes")
    figure = figure_of(theme, 4.3, "Masking a payload")
    left = figure.add_axes([0.068, 0.18, 0.345, 0.645])
    right = figure.add_axes([0.505, 0.18, 0.32, 0.645])
    draw_lines(
        left,
        theme,
        contenders,
        nanoseconds,
        [10**n for n in range(2, 10)],
        duration,
        "time per call (lower is better)",
    )
    draw_lines(
        right,
        theme,
        contenders,
        gigabytes_a_second,
        [0.01, 0.1, 1, 10, 100],
        throughput,
        "bytes per second (higher is better)",
    )
    label_lines(right, theme, contenders, gigabytes_a_second)
    footer(figure, theme, environment)
    return figure


def validation(theme, rows, environment):
    figure = figure_of(theme, 3.9, "Validating UTF-8, bytes per second (higher is better)")
    panels = []
    for index, (text, title) in enumerate(
        (
            ("ASCII", "ASCII"),
            ("JSON", "JSON, mostly ASCII"),
            ("CJK", "CJK, 3 bytes a character"),
        )
    ):
        contenders = series(rows, "utf8_validate", text)
        axes = figure.add_axes([0.085 + index * 0.302, 0.2, 0.163, 0.6])
        draw_lines(
            axes,
            theme,
            contenders,
            gigabytes_a_second,
            [0.001, 0.01, 0.1, 1, 10, 100],
            throughput if index == 0 else lambda *_: "",
            title,
        )
        panels.append((axes, contenders))
    low = min(axes.get_ylim()[0] for axes, _ in panels)
    high = max(axes.get_ylim()[1] for axes, _ in panels)
    for axes, contenders in panels:
        axes.set_ylim(low, high)
        label_lines(
            axes, theme, contenders, gigabytes_a_second, lambda name: name.replace(" ASCII", "")
        )
    footer(figure, theme, environment)
    return figure


def server(theme, rows, environment):
    bars = [
        ("bandit", "Bandit as it ships", "bandit"),
        ("masking", "native masking", "ours, half"),
        ("both", "… and validation", "ours"),
        ("floor", "if neither were done", "muted"),
    ]
    buffer = re.search(r"--buffer (\d+)", environment["command"])
    figure = figure_of(
        theme,
        3.8,
        "A server's CPU time per message received, in µs (lower is better)",
        f"one connection, {f'a read buffer of {buffer[1]} bytes' if buffer else 'the default read buffer'}",
    )
    for index, (kind, size) in enumerate((k, s) for k in ("text", "binary") for s in (1024, 16384)):
        times = {
            row["server"]: float(row["us"])
            for row in rows
            if (row["kind"], row["bytes"], row["connections"]) == (kind, str(size), "1")
        }
        # Binary messages are not validated.
        shown = [bar for bar in bars if kind == "text" or bar[0] != "both"]
        column, line = index % 2, index // 2
        height = 0.078 * len(shown)
        top = 0.765 if line == 0 else 0.365
        axes = figure.add_axes([0.19 + column * 0.425, top - height, 0.31, height])
        values = [times[key] for key, _, _ in shown]
        places = range(len(shown), 0, -1)
        axes.barh(places, values, height=0.72, color=[theme[colour] for _, _, colour in shown])
        for place, value in zip(places, values):
            axes.text(
                value + max(values) * 0.02,
                place,
                f"{value:.1f}",
                va="center_baseline",
                fontsize=9,
                color=theme["text"],
            )
        axes.set_xlim(0, max(values) * 1.15)
        axes.set_ylim(0.4, len(shown) + 0.6)
        axes.set_title(
            f"{kind}, {size // 1024} KiB", loc="left", fontsize=10, color=theme["text"], pad=4
        )
        plain(axes, theme)
        axes.set_xticks([])
        axes.set_yticks(list(places), [name if column == 0 else "" for _, name, _ in shown])
        axes.tick_params(axis="y", labelsize=9, labelcolor=theme["text"])
        axes.axvline(0, color=theme["quiet"], linewidth=0.8)
    footer(figure, theme, environment)
    return figure


def main(results, images):
    contenders = read(results / "contenders.csv")
    servers = read(results / "server.csv")
    images.mkdir(parents=True, exist_ok=True)
    plt.rcParams.update({"svg.hashsalt": "", "font.family": "DejaVu Sans"})
    for name, draw, data in (
        ("masking", masking, contenders),
        ("validation", validation, contenders),
        ("server", server, servers),
    ):
        for theme, colours in THEMES.items():
            figure = draw(colours, *data)
            file = images / f"{name}-{theme}"
            figure.savefig(f"{file}.svg", metadata={"Date": None})
            pixels = io.BytesIO()
            figure.savefig(pixels, dpi=100)
            # In few colours, a fourth of the size.
            Image.open(pixels).convert("RGB").quantize(96).save(f"{file}.png", optimize=True)
            plt.close(figure)
            print(f"{file}.svg, .png")


if __name__ == "__main__":
    given = [Path(argument) for argument in sys.argv[1:]]
    main(*(given + [ROOT / "bench/results", ROOT / "docs/images"][len(given) :]))
