/**
 * The edge on real sockets with backends that it finds by DNS: while they come and go, and while DNS is wrong or away.
 */
import { once } from "node:events";
import { writeFile } from "node:fs/promises";
import { createServer, type Server, type Socket } from "node:net";
import { join } from "node:path";
import { beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { writeEdge } from "../../../scripts/build/edge-configuration.ts";
import { startBuiltEdge } from "../../../scripts/start/built-edge.ts";
import { LOOPBACK } from "../../../scripts/start/local-service.ts";
import { listenOnLoopback } from "../../support/loopback-server.ts";
import { expectProblem } from "../../support/problems.ts";
import { type EdgeSettings, startEdges, startOneEdge } from "../../support/service/edge-stage.ts";
import { RawConnection, renderRequest } from "../../support/service/raw-connection.ts";
import { ScriptedBackend } from "../../support/service/scripted-backend.ts";
import { clientOf } from "../../support/service/test-service.ts";
import { makeTemporaryFolder } from "../../support/temporary-folder.ts";
import { API_TOKEN, BACKEND_TOKEN } from "../../support/tokens.ts";

const NAME = "_http._tcp.backend.render.svc.cluster.local";
/** Of renders until a list is renewed, which takes two seconds. */
const SELDOM = { interval: 250 };

interface Service {
  readonly host: string;
  readonly port: number;
  /** None by default. */
  readonly address?: string;
}

/** What becomes of a connection that has asked. */
type DnsBehaviour = (connection: Socket, answer: Buffer) => void;

const answerWhole: DnsBehaviour = (connection, answer) => void connection.write(answer);
const NO_SUCH_NAME = 3;

/**
 * A name server on TCP that knows SRV records, and says what a test wants to hear. It writes messages by itself, as a
 * second formulation of what the edge reads.
 */
class DnsServer {
  /** By full name, in lower case. */
  readonly services = new Map<string, readonly Service[]>();
  /** The names that were asked for. */
  readonly asked: string[] = [];
  behaviour: DnsBehaviour = answerWhole;
  #server: Server | null = null;
  #port = 0;
  readonly #connections = new Set<Socket>();

  /** As an entry of `SERVICE_DNS_SERVERS`. */
  get entry(): string {
    return `${LOOPBACK}:${this.#port}`;
  }

  /** Starts listening, on the same port as before if it has been stopped. */
  async start(): Promise<this> {
    this.behaviour = answerWhole;
    this.#server = createServer((connection) => {
      this.#connections.add(connection);
      connection.on("error", () => {}).once("close", () => this.#connections.delete(connection));
      let received = Buffer.alloc(0);
      connection.on("data", (chunk: Buffer) => {
        received = Buffer.concat([received, chunk]);
        if (received.length < 2 || received.length < 2 + received.readUInt16BE()) return;
        this.behaviour(connection, this.#answer(received.subarray(2)));
      });
    });
    this.#port = Number((await listenOnLoopback(this.#server, this.#port)).port);
    return this;
  }

  async stop(): Promise<void> {
    const server = this.#server;
    if (server === null) return;
    this.#server = null;
    for (const connection of this.#connections) connection.destroy();
    server.close();
    await once(server, "close");
  }

  /** With the length before it. */
  #answer(question: Buffer): Buffer {
    const name = nameAt(question, 12).toLowerCase();
    this.asked.push(name);
    const services = this.services.get(name);
    const addressed = (services ?? []).filter(({ address }) => address !== undefined);
    const header = Buffer.alloc(12);
    question.copy(header, 0, 0, 2);
    header.writeUInt16BE(0x8580 | (services === undefined ? NO_SUCH_NAME : 0), 2);
    for (const [index, count] of [1, services?.length ?? 0, 0, addressed.length].entries()) {
      header.writeUInt16BE(count, 4 + 2 * index);
    }
    const message = Buffer.concat([
      header,
      question.subarray(12),
      // The owner is a pointer to the question.
      ...(services ?? []).map(({ host, port }) =>
        record(Buffer.of(0xc0, 12), 33, Buffer.concat([numbers(0, 10, port), encodeName(host)])),
      ),
      ...addressed.map(({ host, address = "" }) =>
        record(encodeName(host), 1, Buffer.from(address.split(".").map(Number))),
      ),
    ]);
    return Buffer.concat([numbers(message.length), message]);
  }
}

function record(owner: Buffer, type: number, data: Buffer): Buffer {
  return Buffer.concat([owner, numbers(type, 1, 0, 5, data.length), data]);
}

function numbers(...values: readonly number[]): Buffer {
  const bytes = Buffer.alloc(2 * values.length);
  for (const [index, value] of values.entries()) bytes.writeUInt16BE(value, 2 * index);
  return bytes;
}

function encodeName(name: string): Buffer {
  const labels = name.split(".").map((label) => Buffer.concat([Buffer.of(label.length), Buffer.from(label, "latin1")]));
  return Buffer.concat([...labels, Buffer.of(0)]);
}

function nameAt(message: Buffer, at: number): string {
  const labels: string[] = [];
  for (let from = at; message.readUInt8(from) > 0; from += 1 + message.readUInt8(from)) {
    labels.push(message.toString("latin1", from + 1, from + 1 + message.readUInt8(from)));
  }
  return labels.join(".");
}

async function startDns(): Promise<DnsServer> {
  const dns = await new DnsServer().start();
  onTestFinished(() => dns.stop());
  return dns;
}

/** @param onFinished that of the test's context, in a test that runs beside others */
async function startBackend(name: string, onFinished = onTestFinished): Promise<ScriptedBackend> {
  const backend = await new ScriptedBackend(name).start();
  onFinished(() => backend.stop());
  return backend;
}

/** The SRV record of a backend: a pod of this name. */
const serviceOf = ({ name, url }: ScriptedBackend): Service => ({
  host: `${name}.backend.render.svc.cluster.local`,
  port: Number(url.port),
  address: url.hostname,
});

async function startEdgeWith(settings: EdgeSettings): Promise<URL> {
  const { url, stop } = await startOneEdge({ SERVICE_BACKEND_URLS: `srv:${NAME}`, ...settings });
  onTestFinished(stop);
  return url;
}

/**
 * How many edges the tests take, each with a name server of its own and used once. One workerd runs all of them: its
 * start costs more than theirs.
 */
const STAGES = 12;
const unused: { readonly dns: DnsServer; readonly edge: URL }[] = [];

beforeAll(async () => {
  const servers = await Promise.all(Array.from({ length: STAGES }, () => new DnsServer().start()));
  const { urls, stop } = await startEdges(
    servers.map(({ entry }) => ({ SERVICE_BACKEND_URLS: `srv:${NAME}`, SERVICE_DNS_SERVERS: entry })),
  );
  for (const [index, edge] of urls.entries()) {
    const dns = servers[index];
    if (dns !== undefined) unused.push({ dns, edge });
  }
  return async () => {
    await stop();
    for (const dns of servers) await dns.stop();
  };
});

const takeStage = () => unused.pop() ?? expect.unreachable("STAGES is too small");

const render = (edge: URL) => clientOf(edge).render({ source: "x" });
const renderText = async (edge: URL) => (await render(edge)).text();
/** The backends in the edge's metrics, by whether they are up. */
async function originsOf(edge: URL): Promise<string[]> {
  const text = await (await fetch(new URL("/metrics", edge))).text();
  return text
    .split("\n")
    .filter((line) => line.startsWith("service_origin_up"))
    .sort();
}

describe("backends that DNS names", () => {
  it("get the first render of an edge, and those that come and go are noticed within renders", async () => {
    const { dns, edge } = takeStage();
    const [a, b] = await Promise.all([startBackend("a"), startBackend("b")]);
    dns.services.set(NAME, [serviceOf(a)]);
    expect(await renderText(edge)).toBe("%PDF by a");
    expect(await originsOf(edge)).toEqual(['service_origin_up{origin="a"} 1']);

    dns.services.set(NAME, [serviceOf(a), serviceOf(b)]);
    await expect.poll(() => renderText(edge), SELDOM).toBe("%PDF by b");
    await expect
      .poll(() => originsOf(edge), SELDOM)
      .toEqual(['service_origin_up{origin="a"} 1', 'service_origin_up{origin="b"} 1']);

    dns.services.set(NAME, [serviceOf(b)]);
    await expect.poll(() => originsOf(edge), SELDOM).toEqual(['service_origin_up{origin="b"} 1']);
    a.renders.length = 0;
    for (let count = 0; count < 8; count++) expect(await renderText(edge)).toBe("%PDF by b");
    expect(a.renders).toEqual([]);
  });

  it("are asked for once by requests at the same time, and not by each that follows", async () => {
    const { dns, edge } = takeStage();
    const a = await startBackend("a");
    dns.services.set(NAME, [serviceOf(a)]);
    expect(await Promise.all(Array.from({ length: 8 }, () => renderText(edge)))).toEqual(Array(8).fill("%PDF by a"));
    // The first lookup, and on a slow machine another one.
    expect(dns.asked.length).toBeLessThan(8);
    expect(new Set(dns.asked)).toEqual(new Set([NAME]));
  });

  it("are tried one after another when they do not answer, as those of a list are", async () => {
    const { dns, edge } = takeStage();
    const [a, b] = await Promise.all([startBackend("a"), startBackend("b")]);
    dns.services.set(NAME, [serviceOf(a), serviceOf(b)]);
    await a.stop();
    for (let count = 0; count < 4; count++) expect(await renderText(edge)).toBe("%PDF by b");
  });

  it("serve beside those that are listed", async () => {
    const [dns, a, b] = await Promise.all([startDns(), startBackend("a"), startBackend("b")]);
    dns.services.set(NAME, [serviceOf(a)]);
    const settings = { SERVICE_BACKEND_URLS: `${b.entry} eu=srv:${NAME}`, SERVICE_DNS_SERVERS: dns.entry };
    const edge = await startEdgeWith(settings);
    await expect.poll(() => renderText(edge), SELDOM).toBe("%PDF by a");
    await expect.poll(() => renderText(edge), SELDOM).toBe("%PDF by b");
    expect(await originsOf(edge)).toEqual(['service_origin_up{origin="b"} 1', 'service_origin_up{origin="eu-a"} 1']);
  });

  it("may have no address in the answer: then the machine looks their hosts up", async () => {
    const { dns, edge } = takeStage();
    const a = await startBackend("a");
    dns.services.set(NAME, [{ host: "localhost", port: Number(a.url.port) }]);
    expect(await renderText(edge)).toBe("%PDF by a");
  });
});

describe("while DNS", () => {
  const wrong =
    (change: (answer: Buffer) => void): DnsBehaviour =>
    (connection, answer) => {
      change(answer);
      connection.write(answer);
    };

  it.concurrent.for<[string, DnsBehaviour]>([
    ["does not answer", () => {}],
    ["closes the connection", (connection) => connection.destroy()],
    ["truncates its answer", wrong((answer) => answer.writeUInt8(0x87, 4))],
    ["says that there are none", wrong((answer) => answer.writeUInt32BE(0, 8))],
    ["answers with 64 KB of anything", (connection) => connection.write(Buffer.alloc(65_537, 0xff))],
  ])("%s, the last backends serve", async ([_what, behaviour], { expect, onTestFinished }) => {
    const { dns, edge } = takeStage();
    const [a, b] = await Promise.all([startBackend("a", onTestFinished), startBackend("b", onTestFinished)]);
    dns.services.set(NAME, [serviceOf(a)]);
    expect(await renderText(edge)).toBe("%PDF by a");
    dns.behaviour = behaviour;
    dns.services.set(NAME, [serviceOf(b)]);
    const { length } = dns.asked;
    // Twice: what the first of these lookups ended in has then been taken in.
    await expect
      .poll(async () => ((await renderText(edge)) === "%PDF by a" ? dns.asked.length : 0), SELDOM)
      .toBeGreaterThan(length + 1);
    expect(await renderText(edge)).toBe("%PDF by a");
    await dns.stop();
    for (let count = 0; count < 4; count++) expect(await renderText(edge)).toBe("%PDF by a");
    await dns.start();
    await expect.poll(() => renderText(edge), SELDOM).toBe("%PDF by b");
  });

  it("answers in pieces, its backends are found", async () => {
    const { dns, edge } = takeStage();
    const a = await startBackend("a");
    dns.services.set(NAME, [serviceOf(a)]);
    dns.behaviour = (connection, answer) => {
      connection.setNoDelay(true);
      for (const byte of answer) connection.write(Buffer.of(byte));
    };
    expect(await renderText(edge)).toBe("%PDF by a");
  });

  it("has never answered, a render waits, and is answered 503 only after some seconds", async () => {
    const { dns, edge } = takeStage();
    const a = await startBackend("a");
    await expectProblem(await render(edge), "service_unavailable");
    expect(await originsOf(edge)).toEqual([]);
    const waiting = renderText(edge);
    const { length } = dns.asked;
    await expect.poll(() => dns.asked.length).toBeGreaterThan(length);
    dns.services.set(NAME, [serviceOf(a)]);
    expect(await waiting).toBe("%PDF by a");
  });

  it("takes its time, a client that leaves does not keep the others waiting", async () => {
    const { dns, edge } = takeStage();
    const a = await startBackend("a");
    dns.services.set(NAME, [serviceOf(a)]);
    dns.behaviour = () => {};
    const client = await RawConnection.open(edge, renderRequest('{"source":"x"}'));
    await expect.poll(() => dns.asked.length).toBe(1);
    client.reset();
    dns.behaviour = answerWhole;
    expect(await renderText(edge)).toBe("%PDF by a");
  });

  it("is asked at a server that does not listen, the next one answers", async () => {
    const [gone, dns, a] = await Promise.all([startDns(), startDns(), startBackend("a")]);
    dns.services.set(NAME, [serviceOf(a)]);
    await gone.stop();
    const edge = await startEdgeWith({ SERVICE_DNS_SERVERS: `${gone.entry} ${dns.entry}` });
    expect(await renderText(edge)).toBe("%PDF by a");
  });
});

it("without a name server the edge is not healthy", async () => {
  const edge = await startEdgeWith({});
  expect((await fetch(new URL("/health", edge))).status).toBe(503);
});

it("the edge in workerd alone looks names up in the domains of its machine", async () => {
  const [dns, a] = await Promise.all([startDns(), startBackend("a")]);
  const folder = await makeTemporaryFolder("edge-with-dns-");
  await writeEdge(join(folder, "edge"));
  await writeFile(
    join(folder, "resolv.conf"),
    "nameserver 127.0.0.1\nsearch other.svc.cluster.local render.svc.cluster.local\noptions ndots:5\n",
  );
  const edge = await startBuiltEdge(
    join(folder, "edge"),
    {
      SERVICE_API_TOKENS: API_TOKEN,
      SERVICE_BACKEND_TOKEN: BACKEND_TOKEN,
      SERVICE_BACKEND_URLS: "srv:_http._tcp.backend",
      SERVICE_DNS_SERVERS: dns.entry,
    },
    { options: [`--directory-path=machine=${folder}`] },
  );
  onTestFinished(async () => void (await edge.stop()));
  dns.services.set(NAME, [serviceOf(a)]);
  expect(await renderText(edge.url)).toBe("%PDF by a");
  expect(dns.asked.slice(0, 2)).toEqual(["_http._tcp.backend.other.svc.cluster.local", NAME]);
});
