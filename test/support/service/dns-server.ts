/**
 * A name server on TCP that knows SRV records, and says what a test wants to hear. It writes messages by itself, as a
 * second formulation of what the edge reads.
 */
import { once } from "node:events";
import { createServer, type Server, type Socket } from "node:net";
import { LOOPBACK } from "../../../scripts/start/local-service.ts";
import { listenOnLoopback } from "../loopback-server.ts";

export interface Service {
  readonly host: string;
  readonly port: number;
  /** None by default. */
  readonly address?: string;
}

/** What becomes of a connection that has asked. */
export type DnsBehaviour = (connection: Socket, answer: Buffer) => void;

const answerWhole: DnsBehaviour = (connection, answer) => void connection.write(answer);
const NO_SUCH_NAME = 3;

export class DnsServer {
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
