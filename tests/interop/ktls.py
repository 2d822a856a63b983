# SPDX-License-Identifier: GPL-3.0-or-later
"""Whether this kernel has TLS."""

import socket

TCP_ULP = 31


def ask():
    """tlskit's question, by another way: whether a connection takes the protocol."""
    with socket.create_server(("127.0.0.1", 0)) as l, socket.create_connection(l.getsockname()) as s:
        try:
            s.setsockopt(socket.IPPROTO_TCP, TCP_ULP, b"tls")
        except OSError:
            return False
    return True


OFFERED = ask()
