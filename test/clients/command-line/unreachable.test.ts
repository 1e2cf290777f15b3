/** What the command says when it does not get an answer of the service, and what --verbose says of one that it gets. */
import { cp, mkdir, rm, symlink, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import type { Socket } from "node:net";
import { dirname, join } from "node:path";
import { execa } from "execa";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { proxyOf } from "../../../clients/command-line/proxy.ts";
import { CAPABILITIES_PATH } from "../../../protocol/capabilities.ts";
import { problem } from "../../../rules/problem.ts";
import { makeCertificate } from "../../support/clients/certificate.ts";
import {
  type CommandOptions,
  makeProject,
  makeTimeout,
  PROGRAM,
  runCommand,
  runProcess,
  shortenSilence,
  shortenWaits,
} from "../../support/clients/command-line.ts";
import { answerRaw } from "../../support/clients/hostile-answers.ts";
import {
  type Behaviour,
  full,
  PDF,
  reject,
  sendPdf,
  startScript,
  startScriptedService,
} from "../../support/clients/scripted-service.ts";
import { startTamperingProxy } from "../../support/clients/tampering-proxy.ts";
import { closeServer, listenOnLoopback } from "../../support/loopback-server.ts";
import { makeTemporaryFolder } from "../../support/temporary-folder.ts";
import { UNREACHABLE_URL } from "../../support/tokens.ts";

const FILES = { "a.typ": "#data", "rows.jsonl": "{}", "token.txt": "token-of-the-file\n" };

async function render(url: string, options: CommandOptions = {}, ...args: string[]) {
  return runCommand(await makeProject(FILES), ["render", "a.typ", "--url", url, ...args], options);
}

/** Proxies are those of a process. */
async function renderInProcess(url: string, env: Readonly<Record<string, string>>, ...args: string[]) {
  return runProcess(await makeProject(FILES), ["render", "a.typ", "--url", url, ...args], { env });
}

describe("a service that takes requests and goes silent", () => {
  // On a busy machine the constraints may be as late, which are waited for for a minute.
  const NOTICE = / has sent nothing for 20 s: waiting, up to (?:60|300) s\.\n/;
  const EACH = ["render", "a.typ", "--each", "rows.jsonl", "-o", "{#}.pdf"];

  it.each<[when: string, stall: Behaviour]>([
    ["before its answer", () => {}],
    ["within the file", (response) => void response.writeHead(200, PDF).write("%PDF-1.7")],
  ])("%s: render says so once, and ends with exit code 7", async (_when, stall) => {
    shortenSilence();
    const { url } = await startScriptedService(stall);
    const { exitCode, stderr } = await render(url);
    expect(stderr).toMatch(NOTICE);
    expect(stderr.split("has sent nothing")).toHaveLength(2);
    expect(stderr).toContain(`${url} does not answer: nothing has come for 300 s.`);
    expect(exitCode).toBe(7);
  });

  it("render --each stops with exit code 7, and asks no more", async () => {
    shortenSilence();
    const { url, bodies } = await startScriptedService(() => {});
    const rows = Array.from({ length: 9 }, (_, n) => `${JSON.stringify({ n })}\n`).join("");
    const folder = await makeProject({ ...FILES, "rows.jsonl": rows });
    const { exitCode, stderr } = await runCommand(folder, [...EACH, "--url", url, "--jobs", "2"]);
    expect(stderr.split("has sent nothing")).toHaveLength(2);
    expect(stderr).toContain("nothing has come for 300 s.");
    expect(stderr).toContain("9 not rendered");
    expect(exitCode).toBe(7);
    expect(new Set(bodies.map(({ data }) => JSON.stringify(data))).size).toBeLessThanOrEqual(2);
  });

  it("before the constraints: render --each, constraints and render end, render after the render that it sends all the same", async () => {
    shortenSilence();
    const { url } = await startScript(() => {});
    const folder = await makeProject(FILES);
    for (const [args, seconds] of [
      [EACH, 60],
      [["constraints"], 60],
      [["render", "a.typ"], 300],
    ] as const) {
      const { exitCode, stderr } = await runCommand(folder, [...args, "--url", url]);
      expect(stderr).toMatch(NOTICE);
      expect(stderr).toContain(`nothing has come for ${seconds} s.`);
      expect(exitCode).toBe(7);
    }
  });

  it("is not said with --json, and with a longer --timeout is waited for longer", async () => {
    shortenSilence();
    const { url, bodies } = await startScriptedService(() => {});
    const { exitCode, stdout, stderr } = await render(url, {}, "--json");
    expect([exitCode, stderr]).toEqual([7, ""]);
    expect(JSON.parse(stdout)).toMatchObject({ outcome: "failed", message: expect.stringContaining("300 s") });
    const timeout = makeTimeout();
    const before = bodies.length;
    const longer = render(url, {}, ...timeout.args);
    await expect.poll(() => bodies.length).toBe(before + 1);
    timeout.pass();
    expect(await longer).toMatchObject({ exitCode: 7, stderr: expect.stringContaining("(--timeout)") });
  });
});

describe("a service that cannot be reached: exit code 7, one cause and what to do about it", () => {
  it.each<[string, () => Promise<string>, RegExp]>([
    [
      "the host name",
      async () => "http://no-such-host.invalid",
      /^http:\/\/no-such-host\.invalid cannot be reached: the host name was not found \(ENOTFOUND\)\. Check its spelling/,
    ],
    [
      "an unknown authority",
      async () => {
        const certificate = makeCertificate({ fromDays: -1, toDays: 1 }, ["localhost"], "Nobody");
        return (await startTamperingProxy(new URL(UNREACHABLE_URL), () => {}, { certificate })).url.origin;
      },
      /its certificate is not accepted \(UNABLE_TO_VERIFY_LEAF_SIGNATURE\)\. .*set NODE_EXTRA_CA_CERTS/,
    ],
    [
      "no TLS",
      async () => (await startScript(sendPdf)).url.replace("http:", "https:"),
      /does not speak the protocol of the URL \(ERR_SSL_WRONG_VERSION_NUMBER\).*http:\/\//,
    ],
    [
      "another protocol",
      async () => (await startScript(answerRaw("SSH-2.0-OpenSSH_9", ""))).url,
      /whether the URL must begin with/,
    ],
  ])("%s", async (_what, start, words) => {
    const { stderr, exitCode } = await render(await start());
    expect(stderr).toMatch(words);
    // Another try would not help.
    expect(stderr).not.toContain("Tried");
    expect(stderr.trim().split("\n")).toHaveLength(1);
    expect(exitCode).toBe(7);
  });

  /** Renders with a `--timeout` that passes at the second try. */
  async function renderTwice(url: string) {
    const timeout = makeTimeout();
    const send = globalThis.fetch;
    let tries = 0;
    const spy = vi.spyOn(globalThis, "fetch").mockImplementation((input, init) => {
      if (init?.method === "POST" && ++tries === 2) timeout.pass();
      return send(input, init);
    });
    onTestFinished(() => spy.mockRestore());
    return render(url, {}, ...timeout.args);
  }

  it.each<[string, () => Promise<string>, RegExp]>([
    ["the connection", async () => UNREACHABLE_URL, /the connection was refused \(ECONNREFUSED\)\. Is it running\?/],
    ["the service", async () => (await startScript(full(0))).url, /^[^.]*\. render_queue_full: /],
  ])("a --timeout that ends the tries, with the reason of the last one: %s", async (_what, start, reason) => {
    const { stderr, exitCode } = await renderTwice(await start());
    expect(stderr).toMatch(/^The document did not arrive within 3600 s \(--timeout\)\. /);
    expect(stderr).toMatch(reason);
    expect(exitCode).toBe(7);
  });

  it("a service that is busy longer than a minute, which a longer --timeout waits for", async () => {
    shortenWaits();
    const busyTimes = 30;
    const { url, bodies } = await startScriptedService((response, count) =>
      (count > busyTimes ? sendPdf : full(8))(response),
    );
    const { exitCode } = await render(url, {}, "--timeout", "600");
    expect([exitCode, bodies.length]).toEqual([0, busyTimes + 1]);
    const impatient = await startScriptedService(full(8));
    expect((await render(impatient.url)).exitCode).toBe(5);
    expect(impatient.bodies).toHaveLength(5);
  });

  it("a place that cannot be written to after a --timeout has passed: it is named, not the time", async () => {
    const timeout = makeTimeout();
    const { url } = await startScriptedService((response) => {
      sendPdf(response);
      response.once("finish", timeout.pass);
    });
    const folder = await makeProject({ ...FILES, taken: "x" });
    const run = await runCommand(folder, ["render", "a.typ", "--url", url, "-o", "taken/a.pdf", ...timeout.args]);
    expect(run.stderr).not.toContain("(--timeout)");
    expect(run.stderr).toContain("taken");
  });

  it.each(["0.0001", "1.0011"])("no answer within a --timeout, which may be a fraction: %s", async (value) => {
    const { url } = await startScript(() => {});
    const { stderr, exitCode } = await render(url, {}, "--timeout", value);
    expect(stderr).toBe(`The document did not arrive within ${value} s (--timeout).\n`);
    expect(exitCode).toBe(7);
  });

  it("and not a --timeout that is no time", async () => {
    for (const value of ["0", "-1", "x", "3601"]) {
      expect((await render("http://127.0.0.1:1", {}, `--timeout=${value}`)).exitCode, value).toBe(2);
    }
  });
});

describe("a proxy of the environment", () => {
  const startProxy = async (service: string) => {
    const { url, requests } = await startTamperingProxy(new URL(service), () => {});
    return { url: url.href, requests };
  };

  it("is used", async () => {
    const service = await startScriptedService(sendPdf);
    const proxy = await startProxy(service.url);
    const { stderr } = await renderInProcess("http://render.example", { http_proxy: proxy.url });
    expect(stderr).toMatch(/^a\.pdf: /);
    expect(proxy.requests).toContain("GET http://render.example/v1/constraints");
    expect(proxy.requests).toContain("POST http://render.example/v1/render");
  });

  it.each([
    ["check", ["check", "a.typ", "--strict"], CAPABILITIES_PATH],
    ["render --dry-run --strict", ["render", "a.typ", "--dry-run", "--strict"], CAPABILITIES_PATH],
    ["doctor", ["doctor"], "/health"],
  ])("is used by %s, too", async (_what, args, path) => {
    const service = await startScriptedService(sendPdf);
    const proxy = await startProxy(service.url);
    // Something is missing here, so that `check` asks the service for it.
    const folder = await makeProject({ "a.typ": '#set text(font: "Nowhere")\nx' });
    await runProcess(folder, [...args, "--url", "http://render.example"], { env: { http_proxy: proxy.url } });
    expect(proxy.requests).toContain(`GET http://render.example${path}`);
  });

  it("is not used for the hosts of NO_PROXY", async () => {
    const service = await startScriptedService(sendPdf);
    const proxy = await startProxy(service.url);
    const env = { HTTP_PROXY: proxy.url, NO_PROXY: "10.0.0.0/8,127.0.0.0/8" };
    expect((await renderInProcess(service.url, env)).exitCode).toBe(0);
    expect(proxy.requests).toEqual([]);
  });

  it.each<[list: string, address: string, isExcepted: boolean]>([
    ["*", "http://10.0.0.1", true],
    ["localhost, 10.0.0.1", "http://10.0.0.1:8787", true],
    ["10.0.0.1/32", "http://10.0.0.1", true],
    ["10.0.0.0/8", "http://10.255.0.1:8787", true],
    ["10.0.0.0/8", "http://11.0.0.1", false],
    ["10.0.0.1-10.0.0.9", "http://10.0.0.9", true],
    ["10.0.0.1-10.0.0.9", "http://10.0.0.10", false],
    ["fd00::/8", "http://[fd12::1]:8787", true],
    ["fd00::/8", "http://[fe80::1]", false],
    ["10.0.0.0/99", "http://10.0.0.1", false],
    ["10.0.0.0/8", "http://render.example", false],
    [".example", "http://render.example", true],
    ["render.example:8787", "http://render.example", false],
  ])("with NO_PROXY=%s and %s, is excepted: %s", (list, address, isExcepted) => {
    vi.stubEnv("NO_PROXY", list);
    vi.stubEnv("no_proxy", "");
    vi.stubEnv("http_proxy", "http://proxy.example:3128");
    onTestFinished(() => void vi.unstubAllEnvs());
    expect(proxyOf(address) === null).toBe(isExcepted);
  });

  it("is named, without its password, when it rejects requests", async () => {
    const server = createServer();
    server.on("connect", (_, socket: Socket) => void socket.end("HTTP/1.1 403 Forbidden\r\n\r\n"));
    const proxy = await listenOnLoopback(server);
    onTestFinished(() => closeServer(server));
    proxy.username = "user";
    proxy.password = "secret";
    // With `--each`, the first failure ends the run.
    const args = ["--each", "rows.jsonl", "--output", "{#}.pdf"];
    const refused = await renderInProcess("https://render.example", { HTTPS_PROXY: proxy.href }, ...args);
    expect(refused.stderr).toMatch(/Node says: .*403.*The request went to/);
    expect(refused.stderr).toContain(`The request went to the proxy ${proxy.origin} of HTTPS_PROXY`);
    expect(refused.stderr).not.toContain("secret");
    expect(refused.exitCode).toBe(7);
  });

  it("that is not a URL is refused", async () => {
    const { stderr, exitCode } = await render("http://render.example", { env: { HTTP_PROXY: "no url" } });
    expect(stderr).toMatch(/^HTTP_PROXY or HTTPS_PROXY is not the URL of a proxy/);
    expect(exitCode).toBe(2);
  });
});

describe("a token that is refused", () => {
  it.each<[string, Record<string, string>, string[], string]>([
    ["the variable", { SERVICE_API_TOKEN: "token-of-the-variable" }, [], "the variable SERVICE_API_TOKEN"],
    ["the option", {}, ["--token-file", "token.txt"], "the file token.txt (--token-file)"],
  ])("is reported as that of %s, and not shown", async (_what, env, args, origin) => {
    const service = await startScriptedService(reject(problem("forbidden", "No.", {})));
    const { stderr, exitCode } = await render(service.url, { env }, ...args);
    expect(stderr).toContain(`The token came from ${origin}.`);
    expect(stderr).not.toContain("token-of");
    expect(exitCode).toBe(3);
  });

  /** A checkout with the program as `npm run build:cli` puts it there. */
  async function makeCheckout(): Promise<{ readonly checkout: string; readonly program: string }> {
    const checkout = await makeTemporaryFolder("checkout-");
    await cp(dirname(PROGRAM), join(checkout, "dist/cli"), { recursive: true });
    await mkdir(join(checkout, ".local"));
    return { checkout, program: join(checkout, "dist/cli/main.js") };
  }

  async function renderFrom(program: string, files: Readonly<Record<string, string>> = {}) {
    const service = await startScriptedService(reject(problem("forbidden", "No.", {})));
    const folder = await makeProject({ "a.typ": "x", ...files });
    const options = { env: { SERVICE_API_TOKEN: "" }, program };
    const { stderr, exitCode } = await runProcess(folder, ["render", "a.typ", "--url", service.url], options);
    return { stderr, exitCode, sent: service.requests.map(({ headers }) => headers["x-service-api-token"]) };
  }

  it("is that of the checkout that the program is in", async () => {
    const { checkout, program } = await makeCheckout();
    await writeFile(join(checkout, ".local/api-token"), "token-of-the-checkout\n");
    const { stderr, sent } = await renderFrom(program);
    expect(stderr).toContain(`The token came from the file ${join(checkout, ".local/api-token")} of the checkout.`);
    expect(new Set(sent)).toEqual(new Set(["token-of-the-checkout"]));
  });

  it("is not that of the checkout for a service elsewhere", async () => {
    const { checkout, program } = await makeCheckout();
    await writeFile(join(checkout, ".local/api-token"), "token-of-the-checkout\n");
    const args = ["render", "a.typ", "--url", "http://render.example"];
    const run = await runProcess(await makeProject(FILES), args, { env: { SERVICE_API_TOKEN: "" }, program });
    expect(run.stderr).toBe(
      "There is no token for http://render.example: set SERVICE_API_TOKEN, or pass a file with --token-file.\n",
    );
    expect(run.exitCode).toBe(2);
  });

  it("is not that of the folder in which somebody works, nor of one above the program", async () => {
    const { checkout, program } = await makeCheckout();
    await writeFile(join(checkout, "dist/api-token"), "another-token");
    await mkdir(join(checkout, "dist/.local"));
    await writeFile(join(checkout, "dist/.local/api-token"), "another-token");
    const { stderr, sent } = await renderFrom(program, { ".local/api-token": "token-of-a-stranger" });
    expect(stderr).toContain("There is no token for");
    expect(sent).toEqual([]);
  });

  it.each<[what: string, make: (folder: string, secret: string) => Promise<unknown>, why: string]>([
    ["a link to a secret", (folder, secret) => symlink(secret, join(folder, "api-token")), "it is a symbolic link"],
    [
      "in a linked folder",
      async (folder, secret) => {
        await rm(folder, { recursive: true });
        await symlink(dirname(secret), folder);
      },
      "it is a symbolic link",
    ],
    ["a pipe", (folder) => execa("mkfifo", [join(folder, "api-token")]), "it is not a regular file"],
    ["no token", (folder) => writeFile(join(folder, "api-token"), "schlüssel"), "it holds no token"],
  ])("is not read from what `npm start` has not written: %s", async (_what, make, why) => {
    const { checkout, program } = await makeCheckout();
    const other = await makeTemporaryFolder("secret-");
    await writeFile(join(other, "api-token"), "secret-of-another-program");
    await make(join(checkout, ".local"), join(other, "api-token"));
    const { stderr, exitCode, sent } = await renderFrom(program);
    expect(stderr).toContain(`${join(checkout, ".local/api-token")} is not used: ${why}.`);
    expect(stderr).not.toContain("secret-of-another-program");
    expect(exitCode).toBe(2);
    expect(sent).toEqual([]);
  });

  it("is not the beginning of a long file that the option names", async () => {
    const folder = await makeProject({ "a.typ": "x", long: "x".repeat(4097) });
    const { stderr, exitCode } = await runCommand(folder, ["render", "a.typ", "--token-file", "long"]);
    expect(stderr).toBe("The token file long is not used: it has more than 4096 bytes.\n");
    expect(exitCode).toBe(2);
  });

  it("is refused before anything is sent if no header can hold it", async () => {
    const { stderr, exitCode } = await render("http://127.0.0.1:1", { env: { SERVICE_API_TOKEN: "schlüssel" } });
    expect(stderr).toBe("The token of the variable SERVICE_API_TOKEN must be one line of visible ASCII.\n");
    expect(exitCode).toBe(2);
  });
});

it("--verbose prints the versions, the service, and where the token came from", async () => {
  const service = await startScriptedService(sendPdf);
  const { stderr, exitCode } = await render(service.url, {}, "--verbose");
  expect(stderr.split("\n")[0]).toMatch(
    /^document-rendering .* on Node .*: http:.*, with the token of the variable SERVICE_API_TOKEN$/,
  );
  expect(exitCode).toBe(0);
});
