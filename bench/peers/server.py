"""A small HTTP server around Typst or WeasyPrint in process, for `npm run bench:peers`.

    python server.py typst|weasyprint FOLDER WORKERS

FOLDER holds `<document>.typ` and `<document>.json`, or `<document>.html`. `POST /<document>` answers with a tagged PDF in
which the text REQUEST_NUMBER is replaced by the body. As under gunicorn's default workers, each process serves one
connection at a time, and one request on it. The server prints its port, and ends when standard input does.
"""

import os
import signal
import sys
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

DOCUMENTS = ("hello", "invoice")
PLACEHOLDER = "REQUEST_NUMBER"


def typst_renderer(folder):
    import typst

    fonts = typst.Fonts(include_system_fonts=False)
    # One compiler for each document. It stays alive, and reuses what it has computed.
    compilers = {name: typst.Compiler(folder / f"{name}.typ", root=folder, font_paths=fonts) for name in DOCUMENTS}
    data = {name: (folder / f"{name}.json").read_text() for name in DOCUMENTS}

    def render(name, number):
        return compilers[name].compile(format="pdf", sys_inputs={"data": data[name].replace(PLACEHOLDER, number)})

    return render


def weasyprint_renderer(folder):
    from weasyprint import HTML

    pages = {name: (folder / f"{name}.html").read_text() for name in DOCUMENTS}

    def render(name, number):
        return HTML(string=pages[name].replace(PLACEHOLDER, number), base_url=f"{folder}/").write_pdf(pdf_tags=True)

    return render


def handler_of(render):
    class Handler(BaseHTTPRequestHandler):
        def do_POST(self):
            number = self.rfile.read(int(self.headers["Content-Length"])).decode()
            pdf = render(self.path[1:], number)
            self.send_response(200)
            self.send_header("Content-Type", "application/pdf")
            self.send_header("Content-Length", str(len(pdf)))
            self.end_headers()
            self.wfile.write(pdf)

        def log_message(self, *_):
            pass

    return Handler


def main():
    kind, folder, workers = sys.argv[1], Path(sys.argv[2]), int(sys.argv[3])
    HTTPServer.request_queue_size = 128
    server = HTTPServer(("127.0.0.1", 0), None)
    children = []
    for _ in range(workers):
        child = os.fork()
        if child == 0:
            # Made in each worker, because threads do not survive a fork.
            renderers = {"typst": typst_renderer, "weasyprint": weasyprint_renderer}
            server.RequestHandlerClass = handler_of(renderers[kind](folder))
            server.serve_forever()
        children.append(child)
    print(server.server_port, flush=True)
    sys.stdin.read()
    for child in children:
        os.kill(child, signal.SIGKILL)


main()
