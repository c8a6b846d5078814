"""Talks to an echo server with the websockets library.

Arguments: the URL, the sizes of the messages, a file with texts that are not UTF-8, in hex.
"""

import os
import random
import sys

from websockets.exceptions import ConnectionClosedError
from websockets.sync.client import connect

url, sizes, invalid_texts = sys.argv[1:]
echoed = refused = 0

CHARACTERS = 'aé€😀{":7}Ж語\0\uffff '


def text(size):
    result = "".join(random.choices(CHARACTERS, k=size // 4))
    return result + "." * (size - len(result.encode()))


def expect_echo(socket, message):
    global echoed
    assert socket.recv() == message, f"{len(message)} came back changed"
    echoed += 1


def fragments(socket, message):
    for start in range(0, len(message), 1000):
        yield message[start : start + 1000]
        socket.ping(str(start))


def options(compression):
    return {"compression": compression, "max_size": None, "ping_interval": None, "proxy": None}


for compression in [None, "deflate"]:
    with connect(url, **options(compression)) as socket:
        assert bool(socket.protocol.extensions) == bool(compression)
        # Texts only with compression: see test/integration/clients_test.exs.
        for make in [text] if compression else [text, os.urandom]:
            for size in map(int, sizes.split(",")):
                message = make(size)
                socket.send(message)
                expect_echo(socket, message)

        message = text(10000)
        socket.send(fragments(socket, message))
        expect_echo(socket, message)

with open(invalid_texts) as lines:
    for line in lines:
        with connect(url, **options("deflate" if refused % 2 else None)) as socket:
            socket.send(bytes.fromhex(line), text=True)
            try:
                socket.recv()
            except ConnectionClosedError as error:
                assert error.rcvd.code == 1007, error
                refused += 1

print(f"{echoed} messages echoed, {refused} texts refused")
