# SPDX-License-Identifier: GPL-3.0-or-later
"""Samples to tables, as aligned text and as Markdown.

A table has a row a cell and a column a contender: the median over the rounds,
and min and max behind it. The last columns are our medians divided by that of
the best peer in the same row. Where the machine became slower or faster on the
way, the median of what each round says by itself tells more, and is shown too.
"""
import os
import statistics
from collections import namedtuple

# better: min or max, for which peer is the best; None: no ratios. plain: does the baseline have a column?
Table = namedtuple("Table", "section figure title better plain keys")

THROUGHPUT = ("suite", "direction", "streams", "threads")
CONNECTIONS = ("certificate", "handshake")
ECHO = ("connections", "window")
IDLE = ("from", "to")
STORM = ("threads", "setup")
TABLES = (
    Table("throughput", "cpu_s_per_gb", "CPU seconds per GB, both tunnel processes (less is better)", min, False, THROUGHPUT),
    Table("throughput", "gbit_s", "Throughput, Gbit/s (more is better)", max, True, THROUGHPUT),
    Table("connections", "cpu_us", "Server CPU a connection, µs (less is better)", min, False, CONNECTIONS),
    Table("connections", "conns_s", "Connections a second (more is better)", max, True, CONNECTIONS),
    Table("connections", "busy", "Processors the server kept busy in those; below 0.9 the rate is the clients' limit", None, False,
          CONNECTIONS),
    Table("idle", "rss_kb", "Memory of an idle connection in the server, resident, kB of 1000 bytes (less is better)", min, False, IDLE),
    Table("idle", "pss_kb", "The same, proportional (PSS)", min, False, IDLE),
    Table("idle", "held", "Connections held at the end, each still answering", None, False, IDLE),
    Table("echo", "trips_s", "Echo, 1 KiB: round trips a second (more is better)", max, True, ECHO),
    Table("echo", "p50_us", "Echo: median latency, µs (less is better)", min, True, ECHO),
    Table("echo", "p99_us", "Echo: 99th percentile, µs (less is better)", min, True, ECHO),
    Table("echo", "cpu_us", "Echo: CPU a round trip, both tunnel processes, µs (less is better)", min, False, ECHO),
    Table("storm", "ratio", "Echo beside a storm of full RSA-3072 handshakes: 99th percentile to that without (less is better)", min, False,
          STORM),
    Table("storm", "storm_p99_us", "Echo in the storm: 99th percentile, µs (less is better)", min, False, STORM),
    Table("storm", "quiet_p99_us", "The same echo without the storm: 99th percentile, µs", min, False, STORM),
    Table("storm", "storm_p50_us", "Echo in the storm: median, µs (less is better)", min, False, STORM),
    Table("storm", "quiet_p50_us", "The same echo without the storm: median, µs", min, False, STORM),
    Table("storm", "storm_max_us", "Echo in the storm: the longest, µs", None, False, STORM),
    Table("storm", "quiet_max_us", "The same echo without the storm: the longest, µs", None, False, STORM),
    Table("storm", "handshakes_s", "Handshakes a second that the storm got meanwhile (more is better)", max, False, STORM),
    Table("storm", "busy", "Processors the server kept busy in the storm", None, False, STORM),
)
PLAIN = "plain TCP"
OURS = "tlskit "


def plain_cell(section, cell):
    """The cell that stands for this one where no tunnel is: suites, certificates and threads change nothing."""
    if section == "throughput":
        return ("", cell[1], cell[2], 0)
    return ("", "") if section == "connections" else tuple(cell)


class Samples:
    def __init__(self, rows):
        self.values = {}
        self.by_round = {}  # the same by the round that they are of
        for r in rows:
            key = tuple(plain_cell(r["section"], r["cell"])) if r["label"] == PLAIN else tuple(r["cell"])
            for figure, value in r["figures"].items():
                self.values.setdefault((r["section"], figure, r["label"], key), []).append(value)
                self.by_round.setdefault((r["section"], figure, r["label"], key), {})[r["round"]] = value
        self.cells = {}
        self.labels = []
        for r in rows:
            if r["label"] not in self.labels:
                self.labels.append(r["label"])
            cells = self.cells.setdefault(r["section"], [])
            if r["label"] != PLAIN and tuple(r["cell"]) not in cells:
                cells.append(tuple(r["cell"]))

    def get(self, section, figure, label, cell):
        key = plain_cell(section, cell) if label == PLAIN else tuple(cell)
        return self.values.get((section, figure, label, key), [])

    def median(self, *key):
        values = self.get(*key)
        return statistics.median(values) if values else None

    def peers(self):
        return [x for x in self.labels if not x.startswith(OURS) and x != PLAIN]

    def ratio_by_rounds(self, table, label, cell):
        """The same of each round by itself, and the median of that; to the peer that we do worst against."""
        mine = self.by_round.get((table.section, table.figure, label, tuple(cell)), {})
        found = []
        for x in self.peers():
            theirs = self.by_round.get((table.section, table.figure, x, tuple(cell)), {})
            both = [mine[n] / theirs[n] for n in mine if theirs.get(n)]
            found += [statistics.median(both)] if both else []
        worst = {min: max, max: min}[table.better]
        return worst(found) if found else None

    def ratio(self, table, label, cell):
        """Ours to the best peer's, or None where one of them is missing."""
        peers = [self.median(table.section, table.figure, x, cell) for x in self.peers()]
        peers = [x for x in peers if x]
        mine = self.median(table.section, table.figure, label, cell)
        return mine / table.better(peers) if peers and mine is not None else None


def number(x):
    if isinstance(x, int):
        return str(x)
    size = abs(x)
    return f"{x:.0f}" if size >= 100 else f"{x:.1f}" if size >= 10 else f"{x:.2f}" if size >= 0.1 else f"{x:.3f}"


def spread(values):
    if not values:
        return "-"
    mid = statistics.median(values)
    if isinstance(values[0], int):
        mid = int(mid)
    if min(values) == max(values):
        return number(mid)
    return f"{number(mid)} ({number(min(values))}–{number(max(values))})"


def short(value):
    return str(value).removeprefix("TLS_").replace("_", "-").removesuffix("-SHA256").removesuffix("-SHA384")


def grid(table, samples):
    """Head and rows of one table, as texts."""
    cells = samples.cells.get(table.section, [])
    tunnels = [x for x in samples.labels if x != PLAIN and any(samples.get(table.section, table.figure, x, c) for c in cells)]
    labels = tunnels + ([PLAIN] if table.plain and PLAIN in samples.labels else [])
    ours = [x for x in tunnels if x.startswith(OURS)] if table.better and len(tunnels) > 1 else []
    head = [*table.keys, *labels, *(f"{x.removeprefix(OURS)} / best peer" for x in ours)]
    rows = []
    for cell in cells:
        ratios = (samples.ratio(table, x, cell) for x in ours)
        rows.append([*map(short, cell), *(spread(samples.get(table.section, table.figure, x, cell)) for x in labels),
                     *("-" if r is None else f"{r:.2f}" for r in ratios)])
    return head, rows


# --- what is to be reached -----------------------------------------------

DIRECT = "tlskit direct"
GNUTLS = "tlskit gnutls"
OWN = {("idle", "rss_kb"), ("storm", "ratio")}  # goals that no peer has a part in


def pick_of(found, pick):
    found = [x for x in found if x is not None]
    return pick(found) if found else None


def goals(samples):
    """Rows: what, limit, worst measured, the same round by round, met. The worst of all cells that were run counts."""
    by_figure = {(t.section, t.figure): t for t in TABLES}

    def worst(section, figure, wanted, pick):
        table = by_figure[section, figure]
        cells = [c for c in samples.cells.get(section, []) if wanted(c)]
        if not table.better or (section, figure) in OWN:
            return pick_of([samples.median(section, figure, DIRECT, c) for c in cells], pick), None
        return (pick_of([samples.ratio(table, DIRECT, c) for c in cells], pick),
                pick_of([samples.ratio_by_rounds(table, DIRECT, c) for c in cells], pick))

    def gnutls_to_stunnel():
        cells = [c for c in samples.cells.get("throughput", []) if "AES_128" in c[0] and c[2] == 1 and c[3] == 1]
        found = [[samples.median("throughput", "cpu_s_per_gb", x, c) for x in (GNUTLS, "stunnel")] for c in cells]
        found = [pair for pair in found if None not in pair]
        return (sum(x for x, _ in found) / sum(x for _, x in found) if found else None), None

    wanted = (
        ("CPU s/GB, AES-128-GCM, one stream, both directions together: the gnutls plane to stunnel", "≤", 0.80, gnutls_to_stunnel()),
        ("CPU s/GB, AES-GCM, to the best peer", "≤", 0.60, worst("throughput", "cpu_s_per_gb", lambda c: "AES" in c[0], max)),
        ("CPU s/GB, ChaCha20-Poly1305, to the best peer", "≤", 0.90,
         worst("throughput", "cpu_s_per_gb", lambda c: "CHACHA" in c[0], max)),
        ("CPU an echo round trip, 16×16, to the best peer", "≤", 0.75, worst("echo", "cpu_us", lambda c: c[0] == 16, max)),
        ("p99 of the echo, 16×16, to the best peer", "≤", 0.80, worst("echo", "p99_us", lambda c: c[0] == 16, max)),
        ("round trips a second, 1×1, to the best peer", "≥", 1.10, worst("echo", "trips_s", lambda c: c[0] == 1, min)),
        ("server CPU a connection, ECDSA full, to the best peer", "≤", 0.60,
         worst("connections", "cpu_us", lambda c: c[0].startswith("ECDSA") and c[1] == "full", max)),
        ("server CPU a connection, resumed, to the best peer", "≤", 0.60,
         worst("connections", "cpu_us", lambda c: c[1] == "resumed", max)),
        ("server CPU a connection, RSA-3072 full, to the best peer", "", None,
         worst("connections", "cpu_us", lambda c: c[0].startswith("RSA") and c[1] == "full", max)),
        ("storm p99 to quiet p99, as a factor", "<", 5.0, worst("storm", "ratio", lambda c: c[1] == "apart", max)),
        ("kB an idle connection", "≤", 12.0, worst("idle", "rss_kb", lambda c: True, max)),
        ("connections held by one process", "≥", 10000, worst("idle", "held", lambda c: True, min)),
    )
    rows = []
    for what, sign, limit, (value, by_rounds) in wanted:
        if value is not None:
            rows.append([what, "-" if limit is None else f"{sign} {number(limit)}", number(value),
                         "-" if by_rounds is None else number(by_rounds), met(sign, limit, value)])
    return ["tlskit direct, where not said otherwise", "to reach", "worst measured", "round by round", "met"], rows


def met(sign, limit, value):
    if limit is None:
        return "as the library signs"
    if isinstance(limit, int) and value < limit:
        return "all that were opened"  # fewer than asked for is a failure, and told as one
    return "yes" if {"≤": value <= limit, "<": value < limit, "≥": value >= limit}[sign] else "no"


# --- the two forms ------------------------------------------------------------------------

def text_table(head, rows):
    widths = [max(len(r[i]) for r in [head, *rows]) for i in range(len(head))]
    left = [not any(c.isdigit() or c == "-" for c in r[i][:1]) for r in rows[:1] for i in range(len(head))]
    return ["  ".join(x.ljust(w) if is_left else x.rjust(w) for x, w, is_left in zip(row, widths, left)).rstrip()
            for row in [head, *rows]]


def markdown_table(head, rows):
    return ["| " + " | ".join(row) + " |" for row in [head, ["---"] * len(head), *rows]]


def render(doc, markdown, tables=TABLES, to_reach=goals):
    samples = Samples(doc["samples"])
    shown = markdown_table if markdown else text_table
    out = []
    if markdown:
        out += [f"- {key}: {'`' + value + '`' if key == 'command' else value}" for key, value in doc["header"]]
    else:
        out += [f"{key + ':':14}{value}" for key, value in doc["header"]]
    sections = [("To reach", *to_reach(samples))]
    sections += [(t.title, *grid(t, samples)) for t in tables]
    for title, head, rows in sections:
        if rows:
            out += ["", f"### {title}" if markdown else title, *([""] if markdown else []), *shown(head, rows)]
    if doc["notes"]:
        out += ["", "### Not measured" if markdown else "Not measured", *([""] if markdown else [])]
        out += [f"- {note}" for note in doc["notes"]]
    return "\n".join(out) + "\n"


def write_page(name, markdown):
    """Between the markers of that name in docs/performance.md."""
    page = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "docs", "performance.md")
    begin, end = f"<!-- BEGIN {name} -->", f"<!-- END {name} -->"
    with open(page) as f:
        before, rest = f.read().split(begin)
    with open(page, "w") as f:
        f.write(f"{before}{begin}\n\n{markdown}\n{end}{rest.split(end)[1]}")
