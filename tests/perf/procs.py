# SPDX-License-Identifier: GPL-3.0-or-later
"""Processes that are started, watched and ended here, and by nobody else."""
import contextlib
import json
import os
import resource
import select
import shlex
import shutil
import signal
import socket
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))


class Failed(Exception):
    """A measurement that could not be made, and why."""


class NotStarted(Failed):
    """A tunnel that never came to listen."""


class Unbroken:
    """A `with` block that a signal cannot leave half done; the signal counts when it is through.

    Outside of these, an end by signal runs the `with` blocks as an exception does.
    """
    depth = 0
    pending = None

    def __enter__(self):
        Unbroken.depth += 1

    def __exit__(self, *_):
        Unbroken.depth -= 1
        if Unbroken.depth == 0 and Unbroken.pending:
            number, Unbroken.pending = Unbroken.pending, None
            raise SystemExit(128 + number)

    @staticmethod
    def on_signal(number, _frame):
        if Unbroken.depth == 0:
            raise SystemExit(128 + number)
        Unbroken.pending = number


def end_on_signals():
    for sig in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
        if signal.getsignal(sig) != signal.SIG_IGN:
            signal.signal(sig, Unbroken.on_signal)


def raise_limit():
    """For this process and all it starts: as many descriptors as the system allows."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    return hard


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def listening(port):
    """Looks, and does not connect: a connection would go through the tunnel."""
    wanted = f":{port:04X}"
    for table in ("/proc/net/tcp", "/proc/net/tcp6"):
        if os.path.exists(table):
            with open(table) as f:
                rows = (row.split() for row in f)
                if any(row[1].endswith(wanted) and row[3] == "0A" for row in rows):
                    return True
    return False


def cpu_model():
    with open("/proc/cpuinfo") as f:
        for row in f:
            if row.lower().startswith(("model name", "hardware", "cpu model")):
                return row.split(":", 1)[1].strip()
    return os.uname().machine


class Proc:
    """A child process; standard error goes to a file so that a failure can be told."""

    def __init__(self, argv, work, **popen):
        self.name = os.path.basename(argv[0])
        self.err = open(os.path.join(work, f"{self.name}.{time.monotonic_ns()}.err"), "w+")
        popen = {"stdin": subprocess.DEVNULL, "stdout": subprocess.DEVNULL, **popen}
        self.popen = subprocess.Popen(argv, stderr=self.err, **popen)

    def errors(self):
        with open(self.err.name) as f:
            return f.read()

    def why(self):
        said = self.errors().strip().splitlines()
        code = self.popen.poll()
        state = f"{self.name} ended with {code}" if code is not None else f"{self.name} is running"
        return f"{state}: {said[-1][:200]}" if said else state

    def wait_port(self, port, seconds=10):
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            if self.popen.poll() is not None:
                raise NotStarted(self.why())
            if listening(port):
                return
            time.sleep(0.01)
        raise NotStarted(f"{self.name} does not listen on port {port}")

    def cpu(self):
        """Seconds of user and system time, all threads, those that are gone too, to the nanosecond."""
        try:
            return time.clock_gettime((~self.popen.pid << 3) | 2)  # clock_getcpuclockid(3)
        except OSError as e:
            raise Failed(self.why()) from e

    def memory(self):
        """Resident and proportional bytes."""
        values = {}
        with open(f"/proc/{self.popen.pid}/smaps_rollup") as f:
            for row in f:
                key, *rest = row.split()
                if key in ("Rss:", "Pss:"):
                    values[key] = int(rest[0]) * 1024
        return values["Rss:"], values["Pss:"]

    def stop(self):
        for sig, seconds in ((signal.SIGTERM, 1), (signal.SIGTERM, 3), (signal.SIGKILL, None)):
            if self.popen.poll() is None:
                self.popen.send_signal(sig)
                try:
                    self.popen.wait(seconds)
                except subprocess.TimeoutExpired:
                    pass
        self.err.close()
        os.unlink(self.err.name)


class Load(Proc):
    """The load generator in one of its roles: a command on its standard input, a line of JSON back."""
    binary = None

    def __init__(self, work, role, place=None, **options):
        argv = [Load.binary, role]
        for key, value in options.items():
            argv += [f"--{key}"] if value is True else [f"--{key}", str(value)]
        super().__init__(argv, work, stdin=subprocess.PIPE, stdout=subprocess.PIPE, preexec_fn=place)
        self.name = f"load {role}"
        self.rest = b""
        self.port = None

    def answer(self, seconds):
        end = time.monotonic() + seconds
        while b"\n" not in self.rest:
            ready, _, _ = select.select([self.popen.stdout], [], [], max(0, end - time.monotonic()))
            if not ready:
                raise Failed(f"{self.name} does not answer")
            more = os.read(self.popen.stdout.fileno(), 65536)
            if not more:
                self.popen.wait()
                raise Failed(self.why())
            self.rest += more
        line, self.rest = self.rest.split(b"\n", 1)
        return json.loads(line)

    def ask(self, command, seconds=10):
        try:
            self.popen.stdin.write(command.encode() + b"\n")
            self.popen.stdin.flush()
        except BrokenPipeError:
            self.popen.wait()
            raise Failed(self.why()) from None
        return self.answer(seconds)

    def stop(self):
        try:
            self.popen.stdin.close()
        except BrokenPipeError:
            pass
        super().stop()
        self.popen.stdout.close()


def build_load(work):
    cc = os.environ.get("CC") or shutil.which("cc") or "gcc"
    sources = sorted(os.path.join(HERE, n) for n in os.listdir(HERE) if n.startswith("load") and n.endswith(".c"))
    binary = os.path.join(work, "load")
    flags = subprocess.run(["pkg-config", "--cflags", "--libs", "gnutls"], capture_output=True, text=True, check=False).stdout
    argv = [*shlex.split(cc), "-std=gnu17", "-D_GNU_SOURCE", "-O2", "-o", binary, *sources, *(shlex.split(flags) or ["-lgnutls"])]
    try:
        p = subprocess.run(argv, capture_output=True, text=True, check=False)
    except OSError as e:
        sys.exit(f"the load generator cannot be built: {e}")
    if p.returncode != 0:
        sys.exit(f"the load generator cannot be built:\n{p.stderr}")
    return binary


class Stage:
    """What one measurement has running; all of it ends with the `with` block, the last one first."""

    def __init__(self, work):
        self.work, self.procs, self.place = work, [], None

    def __enter__(self):
        return self

    def __exit__(self, *_):
        with Unbroken():
            for p in reversed(self.procs):
                p.stop()

    @contextlib.contextmanager
    def placed(self, cpus=None, weak=None):
        """What is started in the block runs on these processors alone, and weakly: "nice" (19), or "idle" (SCHED_IDLE)."""
        def place():
            if cpus:
                os.sched_setaffinity(0, cpus)
            if weak == "nice":
                os.nice(19)
            elif weak == "idle":
                os.sched_setscheduler(0, os.SCHED_IDLE, os.sched_param(0))
        self.place = place
        try:
            yield
        finally:
            self.place = None

    def load(self, role, **options):
        p = self.keep(Load, self.work, role, place=self.place, **options)
        if "listen" in options:
            p.port = p.answer(10)["listening"]
        return p

    def run(self, argv, port):
        p = self.keep(Proc, argv, self.work, preexec_fn=self.place)
        p.wait_port(port)
        return p

    def keep(self, kind, *args, **options):
        with Unbroken():
            p = kind(*args, **options)
            self.procs.append(p)
        return p

    def write(self, name, text):
        path = os.path.join(self.work, name)
        with open(path, "w") as f:
            f.write(text)
        return path
