/**
 * The edge on real sockets with backends that it finds by DNS: while they come and go, and while DNS is wrong or away.
 * Only Node looks names up; on Cloudflare such a setting is refused.
 */
import { createSocket, type Socket } from "node:dgram";
import { once } from "node:events";
import { beforeAll, describe, expect, it, onTestFinished, vi } from "vitest";
import { LOOPBACK } from "../../../scripts/start/local-service.ts";
import { expectProblem } from "../../support/problems.ts";
import { type EdgeSettings, startEdges, startOneEdge } from "../../support/service/edge-stage.ts";
import { ScriptedBackend } from "../../support/service/scripted-backend.ts";
import { clientOf } from "../../support/service/test-service.ts";

const NAME = "_http._tcp.backend.render.svc.cluster.local";
/** Of renders until a list is renewed, which takes two seconds. */
const SELDOM = { interval: 250 };

interface Service {
  readonly host: string;
  readonly port: number;
  /** None by default. */
  readonly address?: string;
}

/** What is sent to whoever has asked. */
type DnsBehaviour = (reply: (message: Buffer) => void, answer: Buffer) => void;

const answerWhole: DnsBehaviour = (reply, answer) => reply(answer);
const NO_SUCH_NAME = 3;
const TYPE = { A: 1, SRV: 33 };

/** A name server on UDP that knows SRV records and addresses of their hosts, and says what a test wants to hear. */
class DnsServer {
  /** By full name, in lower case. */
  readonly services = new Map<string, readonly Service[]>();
  /** The names whose services were asked for. */
  readonly asked: string[] = [];
  behaviour: DnsBehaviour = answerWhole;
  #socket: Socket | null = null;
  #port = 0;

  /** As an entry of `SERVICE_DNS_SERVERS`. */
  get entry(): string {
    return `${LOOPBACK}:${this.#port}`;
  }

  /** Starts listening, on the same port as before if it has been stopped. */
  async start(): Promise<this> {
    this.behaviour = answerWhole;
    const socket = createSocket("udp4");
    socket.on("message", (question, { port, address }) => {
      this.behaviour((message) => void socket.send(message, port, address), this.#answer(question));
    });
    socket.bind(this.#port, LOOPBACK);
    await once(socket, "listening");
    this.#socket = socket;
    this.#port = socket.address().port;
    return this;
  }

  async stop(): Promise<void> {
    const socket = this.#socket;
    if (socket === null) return;
    this.#socket = null;
    socket.close();
    await once(socket, "close");
  }

  #answer(question: Buffer): Buffer {
    const name = nameAt(question, 12).toLowerCase();
    // The length of each label, and the end.
    const type = question.readUInt16BE(12 + name.length + 2);
    const records = type === TYPE.SRV ? this.#servicesOf(name) : this.#addressesOf(name, type);
    const header = Buffer.alloc(12);
    question.copy(header, 0, 0, 2);
    header.writeUInt16BE(0x8580 | (records === null ? NO_SUCH_NAME : 0), 2);
    for (const [index, count] of [1, records?.length ?? 0, 0, 0].entries()) header.writeUInt16BE(count, 4 + 2 * index);
    // The owner is a pointer to the question.
    const answers = (records ?? []).map((data) => record(Buffer.of(0xc0, 12), type, data));
    return Buffer.concat([header, question.subarray(12, 12 + name.length + 6), ...answers]);
  }

  #servicesOf(name: string): Buffer[] | null {
    this.asked.push(name);
    const services = this.services.get(name);
    return services?.map(({ host, port }) => Buffer.concat([numbers(0, 10, port), encodeName(host)])) ?? null;
  }

  #addressesOf(host: string, type: number): Buffer[] | null {
    const services = [...this.services.values()].flat().filter((service) => service.host === host);
    if (services.length === 0) return null;
    const addresses = services.flatMap(({ address }) => (address === undefined || type !== TYPE.A ? [] : [address]));
    return [...new Set(addresses)].map((address) => Buffer.from(address.split(".").map(Number)));
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
 * How many edges the tests take, each with a name server of its own and used once.
 */
const STAGES = 6;
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
    (reply, answer) => {
      change(answer);
      reply(answer);
    };

  it.concurrent.for<[string, DnsBehaviour]>([
    ["does not answer", () => {}],
    ["says that there are none", wrong((answer) => answer.writeUInt16BE(0, 6))],
    ["fails", wrong((answer) => answer.writeUInt8(0x82, 3))],
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

  it("is asked at a server that does not listen, the next one answers", async () => {
    const [gone, dns, a] = await Promise.all([startDns(), startDns(), startBackend("a")]);
    dns.services.set(NAME, [serviceOf(a)]);
    await gone.stop();
    const edge = await startEdgeWith({ SERVICE_DNS_SERVERS: `${gone.entry} ${dns.entry}` });
    expect(await renderText(edge)).toBe("%PDF by a");
  });
});

it("on Cloudflare, which has no resolver, srv: is refused with a sentence", async () => {
  const logged = vi.spyOn(console, "error").mockImplementation(() => {});
  onTestFinished(() => void logged.mockRestore());
  const settings = { SERVICE_BACKEND_URLS: `srv:${NAME}`, SERVICE_LOG_REQUESTS: "json" };
  const { url, stop } = await startOneEdge(settings, "cloudflare");
  onTestFinished(stop);
  await expectProblem(await fetch(new URL("/health", url)), "service_unavailable");
  expect(logged.mock.calls.join()).toContain("only where the edge runs in Node");
});
