/** The least that there can be at both ends of the edge: a backend that answers at once, or, before a backend's URL, a bare proxy. */
import { once } from "node:events";
import {
  Agent,
  createServer,
  type IncomingMessage,
  type RequestListener,
  type ServerResponse,
  request as send,
} from "node:http";
import { buffer } from "node:stream/consumers";

const FILE = Buffer.from("%PDF");

const answerAtOnce: RequestListener = (request, response) => {
  request.resume().once("end", () => {
    response.writeHead(200, { "Content-Type": "application/pdf", "Content-Length": FILE.length }).end(FILE);
  });
};

function proxyTo(backend: string): RequestListener {
  const agent = new Agent({ keepAlive: true });
  const pass = async (request: IncomingMessage, response: ServerResponse) => {
    const body = await buffer(request);
    const { method = "GET", headers, url = "" } = request;
    const [answer] = await once(send(new URL(url, backend), { agent, method, headers }).end(body), "response");
    response.writeHead(answer.statusCode, answer.headers);
    answer.pipe(response);
  };
  return (request, response) => void pass(request, response);
}

const [, , backend] = process.argv;
const server = createServer(backend === undefined ? answerAtOnce : proxyTo(backend)).listen(0, "127.0.0.1");
await once(server, "listening");
process.send?.(server.address());
process.once("disconnect", () => process.exit());
