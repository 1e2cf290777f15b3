/** Several requests on one connection, clients that write before they read, and clients that never close. */
import { once } from "node:events";
import { connect } from "node:net";
import { describe, expect, it, onTestFinished } from "vitest";
import { makeFakeTypst, waitFor } from "../../support/backend/fake-typst.ts";
import { startSharedBackend, startTemporaryBackend, type TestBackend } from "../../support/backend/test-backend.ts";
import { backendRenderHead, declared, RawConnection, sendRaw } from "../../support/service/raw-connection.ts";

const MEBIBYTE = 1024 ** 2;

const shared = await startSharedBackend();

describe("on one connection", () => {
  /** Everything that the server sends until it closes the connection. */
  async function exchange(backend: TestBackend, text: string): Promise<string> {
    const connection = new RawConnection(backend.url);
    void connection.write(text);
    return (await connection.readToEnd()).toString("latin1");
  }

  const request = (body: string, fields: Readonly<Record<string, string>> = {}) =>
    backendRenderHead({ ...declared(body.length), ...fields }) + body;
  const CLOSE = { Connection: "close" };

  it("garbage after a valid request is answered after it, and does not replace its answer", async () => {
    const received = await exchange(shared, `${request('{"source":"x"}')}\x01\x02 garbage\r\n\r\n`);
    expect(received.match(/HTTP\/1\.1 \d+/g)).toEqual(["HTTP/1.1 200", "HTTP/1.1 400"]);
    expect(received).toContain("%PDF-");
    expect(received).toContain('"code":"invalid_request"');
    const malformed = await sendRaw(shared.url, ["garbage"]);
    const { instance } = JSON.parse(malformed?.body ?? "");
    expect(Object.fromEntries(malformed?.headers ?? [])).toEqual({
      "cache-control": "no-store",
      connection: "close",
      "content-length": String(malformed?.body.length),
      "content-type": "application/problem+json",
      "x-content-type-options": "nosniff",
      "x-request-id": instance.slice(1),
    });
  });

  it("a short render behind a long one is answered after it", async () => {
    const typst = await makeFakeTypst(`read=$(tail -n 1); [ "$read" = slow ] && { ${waitFor("go")}; }; printf "$read"`);
    const backend = await startTemporaryBackend({ SERVICE_TYPST_BIN: typst.path, SERVICE_MAX_CONCURRENT_RENDERS: "2" });
    const slow = request(JSON.stringify({ source: "slow\n" }));
    const answer = exchange(backend, slow + request(JSON.stringify({ source: "quick\n" }), CLOSE));
    await expect.poll(() => backend.metric("service_deliveries_underway")).toBe(1);
    await typst.signal("go");
    const received = await answer;
    expect(received.match(/HTTP\/1\.1 \d+/g)).toEqual(["HTTP/1.1 200", "HTTP/1.1 200"]);
    expect(received.indexOf("slow")).toBeLessThan(received.indexOf("quick"));
    expect(await backend.metric("service_render_requests_total", { outcome: "ok" })).toBe(2);
  });

  it("many requests at once are answered in their order, and Node takes none of them for a leak", async () => {
    const warnings: string[] = [];
    const keep = ({ message }: Error) => void warnings.push(message);
    process.on("warning", keep);
    onTestFinished(() => void process.off("warning", keep));
    const backend = await startTemporaryBackend({
      SERVICE_MAX_QUEUED_RENDERS: "0",
      SERVICE_MAX_CONCURRENT_RENDERS: "1",
    });
    const received = await exchange(backend, request('{"source":"x"}').repeat(20) + request("not JSON", CLOSE));
    const answers = ["HTTP/1.1 200", ...Array(19).fill("HTTP/1.1 429"), "HTTP/1.1 400"];
    expect(received.match(/HTTP\/1\.1 \d+/g)).toEqual(answers);
    expect(warnings).toEqual([]);
  });

  it("a render behind a long one is stopped as well if the client leaves", async () => {
    const typst = await makeFakeTypst(`cat > /dev/null; ${waitFor("go")}`);
    const backend = await startTemporaryBackend({ SERVICE_TYPST_BIN: typst.path, SERVICE_MAX_CONCURRENT_RENDERS: "2" });
    const connection = new RawConnection(backend.url);
    await connection.write(request('{"source":"a"}') + request('{"source":"b"}'));
    await expect.poll(() => backend.metric("service_renders_running")).toBe(2);
    connection.reset();
    await expect.poll(() => backend.metric("service_render_requests_total", { outcome: "client_gone" })).toBe(2);
    await typst.signal("go");
  });

  it("an unknown expectation is ignored, and the request is answered", async () => {
    const received = await exchange(shared, request('{"source":"x"}', { Expect: "a-miracle", ...CLOSE }));
    expect(received).toMatch(/^HTTP\/1\.1 200 /);
  });

  it("a refusal reaches a client that sends its whole body before it reads", async () => {
    const backend = await startTemporaryBackend({ SERVICE_MAX_REQUEST_BODY_BYTES: String(MEBIBYTE) });
    const body = "x".repeat(20 * MEBIBYTE);
    const received = await exchange(backend, request(body, CLOSE));
    expect(received).toMatch(/^HTTP\/1\.1 413 /);
    expect(received).toContain('"code":"request_too_large"');
  });

  it("a refusal is the last answer if the rest of the body is too large to be read", async () => {
    const connection = new RawConnection(shared.url);
    onTestFinished(() => void connection.socket.destroy());
    await connection.write(backendRenderHead(declared(100 * MEBIBYTE)));
    const answer = await connection.answer();
    expect([answer?.status, answer?.headers.get("Connection")]).toEqual([413, "close"]);
    await connection.expectClosed();
  });

  it("a request has a minute and a half to arrive", async () => {
    // Node measures it, for the head and the body together.
    expect(shared.server.requestTimeout).toBe(90_000);
  });

  it("nothing is kept open for a client that sends garbage and never closes its side", async () => {
    const backend = await startTemporaryBackend();
    const socket = connect({ port: Number(backend.url.port), host: backend.url.hostname, allowHalfOpen: true });
    onTestFinished(() => void socket.destroy());
    socket.on("error", () => {}).resume();
    socket.write("garbage\r\n\r\n");
    await once(socket, "end");
    const connections = () => new Promise((resolve) => backend.server.getConnections((_, count) => resolve(count)));
    await expect.poll(connections).toBe(0);
  });
});
