"""A TCP proxy for one address, which can be slow:

    slow_proxy.py PORT TARGET_PORT SECONDS

What comes for PORT (0: one that is free, which is printed) goes on to TARGET_PORT: each piece so many seconds later from
SIGUSR1 on, at once again from SIGUSR2 on. What comes back is handed on at once, so that a round trip is late once.
"""
import asyncio
import signal
import sys

PORT, TARGET_PORT, DELAY_S = int(sys.argv[1]), int(sys.argv[2]), float(sys.argv[3])
is_slow = False


def switch(on):
    global is_slow
    is_slow = on


async def pump(reader, writer):
    """Pieces keep their order and their distances; many may be on their way."""
    loop, pieces = asyncio.get_running_loop(), asyncio.Queue()

    async def hand_on():
        while True:
            due, data = await pieces.get()
            await asyncio.sleep(max(0, due - loop.time()))
            if not data:
                return writer.close()
            writer.write(data)
            await writer.drain()
    task = asyncio.ensure_future(hand_on())
    data = b"-"
    while data:
        data = await reader.read(65536)
        pieces.put_nowait((loop.time() + (DELAY_S if is_slow else 0), data))
    await task


async def serve(reader, writer):
    to_reader, to_writer = await asyncio.open_connection("127.0.0.1", TARGET_PORT)

    async def back():
        while data := await to_reader.read(65536):
            writer.write(data)
        writer.close()
    await asyncio.gather(pump(reader, to_writer), back(), return_exceptions=True)


async def main():
    loop = asyncio.get_running_loop()
    loop.add_signal_handler(signal.SIGUSR1, switch, True)
    loop.add_signal_handler(signal.SIGUSR2, switch, False)
    server = await asyncio.start_server(serve, "127.0.0.1", PORT)
    print("listening", server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()

asyncio.run(main())
