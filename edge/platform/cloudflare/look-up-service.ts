/** Asks name servers for the backends of a service. By TCP, because a Worker has no UDP. */
import { connect } from "cloudflare:sockets";
import {
  encodeQuestion,
  LENGTH_BYTES,
  parseAnswer,
  type SrvAnswer,
  type SrvQuestion,
} from "../../backends/dns-message.ts";
import { fullNamesOf, type ResolverSettings } from "../../backends/name-servers.ts";
import { WALL_CLOCK, waitAtMost } from "../../clock.ts";

const SERVER_TIMEOUT_MILLISECONDS = 2000;
/** For all names and servers together. The next lookup begins anew. */
const LOOKUP_TIMEOUT_MILLISECONDS = 5000;

/** Never rejects. */
export async function lookUpService(name: string, readSettings: () => Promise<ResolverSettings>): Promise<SrvAnswer> {
  const deadline = WALL_CLOCK.now() + LOOKUP_TIMEOUT_MILLISECONDS;
  try {
    const settings = await readSettings();
    for (const fullName of fullNamesOf(name, settings)) {
      const answer = await askServers(fullName, settings.servers, deadline);
      if (answer.kind !== "none") return answer;
    }
    return { kind: "none" };
  } catch (error) {
    return { kind: "failed", reason: String(error) };
  }
}

async function askServers(name: string, servers: readonly string[], deadline: number): Promise<SrvAnswer> {
  let answer: SrvAnswer = { kind: "failed", reason: "no name server is known" };
  for (const server of servers) {
    const milliseconds = Math.min(SERVER_TIMEOUT_MILLISECONDS, deadline - WALL_CLOCK.now());
    if (milliseconds <= 0) break;
    answer = await askServer(server, name, milliseconds);
    if (answer.kind !== "failed") break;
  }
  return answer;
}

async function askServer(server: string, name: string, milliseconds: number): Promise<SrvAnswer> {
  const [id = 0] = crypto.getRandomValues(new Uint16Array(1));
  const socket = connect(server);
  // When the connection breaks, the exchange below rejects as well.
  socket.closed.catch(() => {});
  try {
    const answer = await waitAtMost(exchange(socket, { name, id }), milliseconds);
    return answer === "late" ? { kind: "failed", reason: "the name server does not answer" } : answer;
  } catch (error) {
    return { kind: "failed", reason: String(error) };
  } finally {
    socket.close().catch(() => {});
  }
}

async function exchange(socket: Socket, question: SrvQuestion): Promise<SrvAnswer> {
  const writing = socket.writable.getWriter().write(encodeQuestion(question));
  // When the write fails, the read below does, too.
  writing.catch(() => {});
  const reader = socket.readable.getReader({ mode: "byob" });
  const length = await readBytes(reader, LENGTH_BYTES);
  const [high = 0, low = 0] = length ?? [];
  const message = length === null ? null : await readBytes(reader, (high << 8) | low);
  if (message === null) return { kind: "failed", reason: "the name server closed the connection" };
  return parseAnswer(message, question);
}

async function readBytes(reader: ReadableStreamBYOBReader, count: number): Promise<Uint8Array | null> {
  if (count === 0) return new Uint8Array(0);
  const { value } = await reader.readAtLeast(count, new Uint8Array(count));
  return value?.length === count ? value : null;
}
