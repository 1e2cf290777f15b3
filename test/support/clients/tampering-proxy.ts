/** A proxy in front of a service that changes answers, as misconfigured ones do, by HTTP or by TLS. */
import {
  createServer,
  type IncomingHttpHeaders,
  type IncomingMessage,
  type OutgoingHttpHeaders,
  request as requestByHttp,
  type ServerResponse,
} from "node:http";
import { createServer as createTlsServer } from "node:https";
import { buffer } from "node:stream/consumers";
import { onTestFinished } from "vitest";
import { closeServer, listenOnLoopback } from "../loopback-server.ts";
import type { TestCertificate } from "./certificate.ts";

/** An answer on its way through the proxy: what is assigned is sent. */
export interface PassingAnswer {
  readonly method: string;
  readonly path: string;
  readonly requestHeaders: IncomingHttpHeaders;
  status: number;
  headers: OutgoingHttpHeaders;
  body: Buffer;
}

interface TamperingOptions {
  /** Served by TLS as `localhost`. */
  readonly certificate?: TestCertificate;
  /** Refuses larger bodies by a page of its own, as nginx does. */
  readonly maxBodyBytes?: number;
  /** Serves the service below this path alone. */
  readonly below?: string;
  /** Adds these header fields to requests. */
  readonly fields?: Readonly<Record<string, string>>;
}

/** Starts a proxy that ends with its test. */
export async function startTamperingProxy(
  service: URL,
  tamper: (answer: PassingAnswer) => void,
  { certificate, maxBodyBytes = Number.POSITIVE_INFINITY, below = "", fields = {} }: TamperingOptions = {},
) {
  /** The requests so far, as `GET /path`, or with the whole URL. */
  const requests: string[] = [];
  let [open, most] = [0, 0];
  const handle = (request: IncomingMessage, response: ServerResponse) => {
    const { method = "GET", url: asked = "/" } = request;
    const headers = { ...request.headers, ...fields };
    requests.push(`${method} ${asked}`);
    most = Math.max(most, ++open);
    response.once("close", () => open--);
    if (Number(headers["content-length"] ?? 0) > maxBodyBytes) {
      request.resume();
      response.writeHead(413, { "Content-Type": "text/html" }).end("<h1>413 Request Entity Too Large</h1>");
      return;
    }
    // Of a proxy that the client has been told of, the whole URL is asked for.
    const { pathname, search } = new URL(asked, service);
    if (!pathname.startsWith(`${below}/`)) return void response.writeHead(404, { "Content-Type": "text/html" }).end();
    const path = pathname.slice(below.length) + search;
    // `Host` as it came.
    const passed = requestByHttp(new URL(path, service), { method, headers, agent: false });
    const passOn = async (answer: IncomingMessage) => {
      const passing = {
        method,
        path,
        requestHeaders: headers,
        status: answer.statusCode ?? 0,
        headers: { ...answer.headers },
        body: await buffer(answer),
      };
      delete passing.headers["transfer-encoding"];
      delete passing.headers["content-length"];
      tamper(passing);
      response.writeHead(passing.status, passing.headers).end(passing.body);
    };
    passed.once("response", (answer) => void passOn(answer));
    passed.on("error", () => response.destroy());
    request.on("error", () => passed.destroy());
    response.once("close", () => passed.destroy());
    passed.flushHeaders();
    request.pipe(passed);
  };
  const server = certificate === undefined ? createServer(handle) : createTlsServer(certificate, handle);
  const address = await listenOnLoopback(server);
  onTestFinished(() => closeServer(server));
  const url = certificate === undefined ? address : new URL(`https://localhost:${address.port}`);
  /** How many requests were open at the same time, at most. */
  const mostAtOnce = () => most;
  return { url, requests, mostAtOnce };
}
