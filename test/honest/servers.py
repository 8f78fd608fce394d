"""Servers of Python's own library, on unix sockets."""
import asyncio
import multiprocessing.connection
import socket
import socketserver
import threading

from checks import check, run_checks


@check
def servers_of_python():
    class Echo(socketserver.StreamRequestHandler):
        def handle(self):
            self.wfile.write(self.rfile.readline())

    with socketserver.ThreadingUnixStreamServer('threads', Echo) as threads:
        threading.Thread(target=threads.serve_forever, daemon=True).start()
        for _ in range(20):
            with socket.socket(socket.AF_UNIX) as client:
                client.connect('threads')
                client.sendall(b'line\n')
                answer = client.recv(100)
        print(answer)
        threads.shutdown()

    async def many():
        async def serve(reader, writer):
            writer.write(await reader.readline())
            await writer.drain()
            writer.close()

        async def ask(i):
            reader, writer = await asyncio.open_unix_connection('async')
            writer.write(f'{i}\n'.encode())
            return int(await reader.readline())

        async with await asyncio.start_unix_server(serve, 'async'):
            return sum(await asyncio.gather(*(ask(i) for i in range(50))))

    print(asyncio.run(many()))
    with multiprocessing.connection.Listener('connection') as listener:
        thread = threading.Thread(target=lambda: multiprocessing.connection.Client('connection').send({'a': 1}))
        thread.start()
        print(listener.accept().recv())
        thread.join()


run_checks()
