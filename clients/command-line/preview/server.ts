/**
 * Serves the page of `check --watch --serve` to browsers on this machine and to nothing else. It listens on the
 * loopback address, and its paths begin with a token that cannot be guessed. It answers only requests for its own host
 * name, so that no web page can reach it through another name that resolves to this machine.
 */
import { randomBytes, timingSafeEqual } from "node:crypto";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { PAGE_CSS, PAGE_HTML, PAGE_SCRIPT } from "./page.ts";

const LOOPBACK = "127.0.0.1";
const TOKEN_BYTES = 32;
/** Browsers open up to six connections for a page. */
const MAX_CONNECTIONS = 32;
/** Windows that follow the events. Each holds a connection open. */
const MAX_FOLLOWERS = 8;

/** Allows only what this server serves itself. */
const PAGE_POLICY =
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";
/** A page is the output of a template: it may show what it contains, and may neither run nor load anything. */
const IMAGE_POLICY = "sandbox; default-src 'none'; style-src 'unsafe-inline'; img-src data:; font-src data:";

export interface Preview {
  readonly name: string;
  /** The outcome in a few words. */
  readonly status: string;
  /** What has to be corrected; empty if there is nothing. */
  readonly report: string;
  /** As SVG; null if the document did not compile: the page then keeps showing the previous pages. */
  readonly pages: readonly Buffer[] | null;
}

export interface PreviewServer {
  /** Contains the token. */
  readonly url: string;
  show(preview: Preview): void;
  close(): Promise<void>;
}

export async function startPreviewServer(): Promise<PreviewServer> {
  const token = randomBytes(TOKEN_BYTES).toString("base64url");
  const state = new PreviewState();
  const server = createServer((request, response) => {
    const path = host === request.headers.host && request.method === "GET" ? pathBehind(token, request) : null;
    if (path === null || !state.answer(path, response)) sendStatus(response, 404);
  });
  server.maxConnections = MAX_CONNECTIONS;
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen({ host: LOOPBACK, port: 0 }, resolve);
  });
  const host = `${LOOPBACK}:${portOf(server.address())}`;
  return {
    url: `http://${host}/${token}/`,
    show: (preview) => state.show(preview),
    close: async () => {
      const closed = new Promise<void>((resolve) => server.close(() => resolve()));
      server.closeAllConnections();
      await closed;
    },
  };
}

function portOf(address: string | AddressInfo | null): number {
  if (address === null || typeof address === "string") throw new Error("the preview has no port");
  return address.port;
}

function pathBehind(token: string, { url = "" }: IncomingMessage): string | null {
  const expected = Buffer.from(`/${token}/`);
  const given = Buffer.from(url).subarray(0, expected.length);
  if (given.length !== expected.length || !timingSafeEqual(given, expected)) return null;
  return url.slice(expected.length);
}

class PreviewState {
  readonly #followers = new Set<ServerResponse>();
  #version = 0;
  #shown = { name: "Preview", status: "Compiling …", report: "", isOld: false };
  #pages: readonly Buffer[] = [];

  show({ name, status, report, pages }: Preview): void {
    this.#version++;
    this.#pages = pages ?? this.#pages;
    this.#shown = { name, status, report, isOld: pages === null && this.#pages.length > 0 };
    for (const follower of this.#followers) follower.write(EVENT);
  }

  /** @returns whether there is something at the path */
  answer(path: string, response: ServerResponse): boolean {
    switch (path) {
      case "":
        send(response, "text/html; charset=utf-8", PAGE_HTML);
        return true;
      case "preview.css":
        send(response, "text/css; charset=utf-8", PAGE_CSS);
        return true;
      case "preview.js":
        send(response, "text/javascript; charset=utf-8", PAGE_SCRIPT);
        return true;
      case "state": {
        const state = { version: this.#version, ...this.#shown, pageCount: this.#pages.length };
        send(response, "application/json", JSON.stringify(state));
        return true;
      }
      case "events":
        this.#follow(response);
        return true;
      default: {
        const [, version, number] = /^pages\/(\d+)\/(\d+)\.svg$/.exec(path) ?? [];
        const page = Number(version) === this.#version ? this.#pages[Number(number) - 1] : undefined;
        if (page !== undefined) send(response, "image/svg+xml", page, IMAGE_POLICY);
        return page !== undefined;
      }
    }
  }

  #follow(response: ServerResponse): void {
    if (this.#followers.size >= MAX_FOLLOWERS) {
      sendStatus(response, 503);
      return;
    }
    this.#followers.add(response);
    response.once("close", () => this.#followers.delete(response));
    response.writeHead(200, headersOf("text/event-stream", PAGE_POLICY));
    // Shows the result that exists already.
    response.write(EVENT);
  }
}

const EVENT = "data: changed\n\n";

function send(response: ServerResponse, type: string, body: string | Buffer, policy = PAGE_POLICY): void {
  response.writeHead(200, { ...headersOf(type, policy), "Content-Length": Buffer.byteLength(body) }).end(body);
}

function sendStatus(response: ServerResponse, status: number): void {
  response.writeHead(status, { ...headersOf("text/plain", PAGE_POLICY), "Content-Length": 0 }).end();
}

function headersOf(type: string, policy: string) {
  return {
    "Content-Type": type,
    "Content-Security-Policy": policy,
    "Cache-Control": "no-store",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    // The URL contains the token.
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
  };
}
