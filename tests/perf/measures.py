# SPDX-License-Identifier: GPL-3.0-or-later
"""The five measurements: what runs where, over which window, divided by what.

Each function takes a contender, a Stage and the values of its cell and returns
a dict of figures. A window begins and ends with `mark`, which makes the load
generator count anew, and the CPU clocks are read at the same two moments.
"""
import os
import time

from contenders import SUITES, Plain
from procs import Failed, raise_limit

WARM_UP = 0.3
CPUS = len(os.sched_getaffinity(0))
STORM_PLACES = 16  # connections under way
SOURCES = 16  # loopback addresses to connect from


def window(seconds, loads, clocked):
    """Marks after the warm-up and again after `seconds`: the answers, and the CPU seconds used in between."""
    time.sleep(WARM_UP)
    for load in loads:
        load.ask("mark")
    before = sum(p.cpu() for p in clocked)
    time.sleep(seconds)
    answers = [load.ask("mark") for load in loads]
    return answers, sum(p.cpu() for p in clocked) - before


def pair(c, stage, backend, **cell):
    """Starts both tunnels: the processes, and the port to connect to."""
    server, port = c.server(stage, backend, **cell)
    client, entry = c.client(stage, port, **cell)
    return [p for p in (server, client) if p], entry


# --- throughput -------------------------------------------------------------------

def throughput_cells(quick):
    directions = ("to server", "to client")
    if quick:
        return ([(s, d, 1, 1) for s in SUITES for d in directions] + [(SUITES[0], d, 8, 2) for d in directions])
    return [(s, d, n, t) for s in SUITES for d in directions for n in (1, 8) for t in (1, 2)]


def throughput(c, stage, seconds, suite, direction, streams, threads):
    near, far = ("source", "sink") if direction == "to server" else ("sink", "source")
    backend = stage.load(far, listen=0)
    tunnels, entry = pair(c, stage, backend.port, suite=suite, threads=threads)
    client = stage.load(near, connect=entry, conns=streams)
    receiver = backend if far == "sink" else client
    (got,), cpu = window(seconds, [receiver], tunnels or [backend, client])
    if got["open"] != streams or not got["bytes"]:
        raise Failed(f"{got['open']} of {streams} streams were left, {got['bytes']} bytes carried")
    return {"gbit_s": got["bytes"] * 8e-9 / got["seconds"], "cpu_s_per_gb": cpu / (got["bytes"] * 1e-9)}


# --- echo ---------------------------------------------------------------------------

def echo_cells(_quick):
    return [(1, 1), (16, 16)]


def echo(c, stage, seconds, conns, per_conn):
    backend = stage.load("echo-server", listen=0)
    tunnels, entry = pair(c, stage, backend.port)
    client = stage.load("echo-client", connect=entry, conns=conns, window=per_conn, size=1024)
    (got,), cpu = window(seconds, [client], tunnels or [backend, client])
    trips = got["round_trips"]
    if not trips:
        raise Failed("no round trip came to its end")
    return {"trips_s": trips / got["seconds"], "p50_us": got["p50_ns"] / 1e3, "p99_us": got["p99_ns"] / 1e3,
            "cpu_us": cpu / trips * 1e6}


# --- connections ----------------------------------------------------------------------

def connections_cells(_quick):
    return [(cert, kind) for cert in ("RSA-3072", "ECDSA P-256") for kind in ("full", "resumed")]


CERT_FILES = {"RSA-3072": "rsa", "ECDSA P-256": "ecdsa"}


def tls_options(c, stage, cert):
    return {} if isinstance(c, Plain) else {"tls": True, "ca": f"{stage.work}/{cert}.crt", "name": "localhost"}


def connections(c, stage, seconds, cert, kind):
    backend = stage.load("echo-server", listen=0)
    server, port = c.server(stage, backend.port, cert=CERT_FILES[cert])
    options = tls_options(c, stage, CERT_FILES[cert])
    if kind == "resumed" and options:
        options["resume"] = True
    # one processor is the server's, the others make connections
    storms = [stage.load("connect-storm", connect=port, conns=STORM_PLACES, sources=SOURCES, **options)
              for _ in range(max(1, min(8, CPUS - 1)))]
    got, cpu = window(seconds, storms, [server or backend])
    count = {key: sum(a[key] for a in got) for key in ("full", "resumed", "failed")}
    error = next((a["error"] for a in got if a["error"]), "")
    done = count["full"] + count["resumed"]
    if count["failed"] or not done:
        raise Failed(f"{count['failed']} of {done + count['failed']} connections failed: {error or 'none was made'}")
    counted = count[kind] if options else done
    if counted < 0.99 * done:
        raise Failed(f"only {counted} of {done} connections were {kind}")
    wall = got[0]["seconds"]
    return {"conns_s": counted / wall, "cpu_us": cpu / done * 1e6, "busy": cpu / wall}


# --- storm ------------------------------------------------------------------------------

# Who is kept off what: see docs/performance.md. The first one is what is measured unless told.
STORM_SETUPS = ("apart", "idle", "niced", "free")


def storm_cells(_quick):
    return [(threads, setup) for setup in STORM_SETUPS for threads in (1, 2)]


def storm_places(setup):
    """How the server, the storm and all the rest are started: arguments of Stage.placed."""
    cpus = sorted(os.sched_getaffinity(0))
    half = len(cpus) // 2
    if setup != "apart":
        return {}, {"weak": {"idle": "idle", "niced": "nice", "free": None}[setup]}, {}
    if not half:
        raise Failed("the server needs a processor of its own (or another --setup)")
    return {"cpus": cpus[:half]}, {"cpus": cpus[half:], "weak": "idle"}, {"cpus": cpus[half:]}


def storm(c, stage, seconds, threads, setup):
    """One echo stream, first alone and then beside full RSA handshakes with the same server."""
    at_server, at_storm, at_rest = storm_places(setup)
    for cpu in sorted(os.sched_getaffinity(0)):
        with stage.placed(cpus={cpu}, weak="idle"):
            stage.load("awake")
    with stage.placed(**at_rest):
        backend = stage.load("echo-server", listen=0)
    with stage.placed(**at_server):
        server, port = c.server(stage, backend.port, cert="rsa", threads=threads)
    with stage.placed(**at_rest):
        _, entry = c.client(stage, port, cert="rsa", threads=threads)
        stream = stage.load("echo-client", connect=entry, size=1024)
    (quiet,), _ = window(seconds, [stream], [server])
    with stage.placed(**at_storm):
        load = stage.load("connect-storm", connect=port, conns=STORM_PLACES, sources=SOURCES, bare=True,
                          **tls_options(c, stage, "rsa"))
    (loud, got), cpu = window(seconds, [stream, load], [server])
    if got["failed"] or not got["full"] or got["resumed"]:
        raise Failed(f"the storm: {got['full']} full handshakes, {got['resumed']} resumed, {got['failed']} failed {got['error']}")
    if not quiet["round_trips"] or not loud["round_trips"]:
        raise Failed(f"{quiet['round_trips']} round trips without the storm, {loud['round_trips']} in it")
    figures = {f"{when}_{q}_us": answer[f"{q}_ns"] / 1e3
               for when, answer in (("quiet", quiet), ("storm", loud)) for q in ("p50", "p99", "max")}
    return {**figures, "ratio": loud["p99_ns"] / quiet["p99_ns"], "handshakes_s": got["full"] / got["seconds"],
            "quiet_trips_s": quiet["round_trips"] / quiet["seconds"], "storm_trips_s": loud["round_trips"] / loud["seconds"],
            "busy": cpu / got["seconds"]}


# --- idle ---------------------------------------------------------------------------------

def idle_cells(quick):
    return [(500, 3000 if quick else 10000)]


def held(client, wanted):
    got = client.ask(f"grow {wanted}", 300)
    if got["held"] != wanted or got["lost"]:
        raise Failed(f"{got['held']} of {wanted} connections held, {got['lost']} lost: {got['error']}")


def settled_memory(server):
    """What a process gives back a moment after its work counts as given back."""
    last = server.memory()
    for _ in range(10):
        time.sleep(0.3)
        now = server.memory()
        if now == last:
            break
        last = now
    return last


def idle(c, stage, _seconds, few, many):
    many = min(many, c.most_held(raise_limit()))
    backend = stage.load("echo-server", listen=0)
    server, port = c.server(stage, backend.port)
    client = stage.load("hold", connect=port, conns=many, sources=SOURCES, **tls_options(c, stage, "ecdsa"))
    held(client, few)
    rss_few, pss_few = settled_memory(server)
    held(client, many)
    rss_many, pss_many = settled_memory(server)
    alive = client.ask("ping", 300)
    if alive["alive"] != many:
        raise Failed(f"{alive['alive']} of {many} held connections still answered: {alive['error']}")
    return {"rss_kb": (rss_many - rss_few) / (many - few) / 1e3, "pss_kb": (pss_many - pss_few) / (many - few) / 1e3,
            "held": many}
