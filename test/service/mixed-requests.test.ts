/**
 * A thousand requests of every kind over real sockets, many at once, through an edge with two backends of which one
 * is replaced on the way. Each answer is compared with what its request must get.
 */
import { expect, it, onTestFinished } from "vitest";
import { expectProblem } from "../support/problems.ts";
import { readSvgSize } from "../support/readers/svg-reader.ts";
import { TestFleet } from "../support/service/test-fleet.ts";
import { backendEnvironment } from "../support/service/test-service.ts";
import { API_TOKEN } from "../support/tokens.ts";

const REQUESTS = 1000;
const CLIENTS = 12;

interface Kind {
  /** How many of a hundred requests are of this kind. */
  readonly share: number;
  readonly path?: string;
  readonly init: (number: number) => RequestInit;
  /** Fails if the answer is not the one to the request of this number. */
  readonly check: (answer: Response, number: number) => Promise<unknown>;
}

const TOKEN = { "X-Service-Api-Token": API_TOKEN };
const post = (body: unknown, headers: Readonly<Record<string, string>> = TOKEN): RequestInit => ({
  method: "POST",
  headers: { "Content-Type": "application/json", ...headers },
  body: typeof body === "string" ? body : JSON.stringify(body),
});
const page = "#set page(width: data * 1pt, height: 20pt, margin: 0pt)\n#data";
const widthOf = (number: number) => 10 + (number % 5000);

const expectStart = async (answer: Response, type: string, signature: string) => {
  expect([answer.status, answer.headers.get("Content-Type")]).toEqual([200, type]);
  const bytes = await answer.bytes();
  expect(Buffer.from(bytes.subarray(0, signature.length)).toString("latin1")).toBe(signature);
};

/** Sends a request of each kind as often as its share says. */
const KINDS: Readonly<Record<string, Kind>> = {
  "an SVG of a size of its own": {
    share: 6,
    init: (number) => post({ source: page, data: widthOf(number), output: { format: "svg" } }),
    check: async (answer, number) => {
      expect(answer.status).toBe(200);
      expect(readSvgSize(await answer.bytes())).toEqual([widthOf(number), 20]);
    },
  },
  "a PDF": {
    share: 3,
    init: (number) => post({ source: page, data: widthOf(number) }),
    check: (answer) => expectStart(answer, "application/pdf", "%PDF-1.7"),
  },
  "a ZIP": {
    share: 1,
    init: () => post({ source: "a\n#pagebreak()\nb", output: { format: "svg", archive: "zip" } }),
    check: (answer) => expectStart(answer, "application/zip", "PK\u0003\u0004"),
  },
  "a template with a mistake": {
    share: 3,
    init: () => post({ source: "#nothing" }),
    check: (answer) => expectProblem(answer, "template_compile_failed"),
  },
  "a file that is too large": {
    share: 2,
    init: () => post({ source: "x", files: { a: { encoding: "text", content: "x".repeat(1_048_577) } } }),
    check: async (answer) => {
      const { context } = await expectProblem(answer, "template_file_too_large");
      expect(context).toEqual({ key: "a", size: 1_048_577, limit: 1_048_576 });
    },
  },
  "an unknown field that is named": {
    share: 20,
    init: (number) => post({ source: "x", [`field-${number}`]: 1 }),
    check: async (answer, number) => {
      const { context } = await expectProblem(answer, "invalid_request");
      expect(context.errors).toEqual([expect.objectContaining({ loc: [`field-${number}`] })]);
    },
  },
  "a body that is no JSON": {
    share: 10,
    init: () => post('{"source": x}'),
    check: async (answer) => expect((await expectProblem(answer, "invalid_request")).context).toEqual({}),
  },
  "a broken rule": {
    share: 10,
    init: () => post({ source: "x", output: { format: "png", pages: "1" } }),
    check: async (answer) => {
      expect((await expectProblem(answer, "invalid_request")).context.rule).toBe("pages_requires_archive");
    },
  },
  "a wrong token": {
    share: 10,
    init: () => post({ source: "x" }, { "X-Service-Api-Token": "wrong" }),
    check: (answer) => expectProblem(answer, "forbidden"),
  },
  "the constraints": {
    share: 15,
    path: "/v1/constraints",
    init: () => ({ headers: TOKEN }),
    check: async (answer) => expect(JSON.parse(await answer.text())).toMatchObject({ rules_version: 5 }),
  },
  "a static document": {
    share: 10,
    path: "/error-codes.json",
    init: () => ({}),
    check: async (answer) => expect([answer.status, typeof JSON.parse(await answer.text())]).toEqual([200, "object"]),
  },
  "a path that is not there": {
    share: 5,
    path: "/v1/renders",
    init: () => post({}),
    check: (answer) => expectProblem(answer, "not_found"),
  },
  "a method that is not allowed": {
    share: 5,
    init: () => ({ method: "PUT", headers: TOKEN }),
    check: (answer) => expectProblem(answer, "method_not_allowed"),
  },
};

/** A hundred kinds, each as often as its share, in an order that mixes them. */
const HUNDRED = Object.values(KINDS)
  .flatMap((kind) => Array.from({ length: kind.share }, () => kind))
  .map((kind, index) => ({ kind, place: (index * 37) % 100 }))
  .toSorted((left, right) => left.place - right.place)
  .map(({ kind }) => kind);

it("each of a thousand mixed requests gets its own answer, also while a backend is replaced", async () => {
  expect(HUNDRED).toHaveLength(100);
  const fleet = await TestFleet.start({ backends: 2, backendSettings: backendEnvironment() });
  onTestFinished(() => fleet.stop());
  const ids = new Set<string | null>();
  let next = 0;
  const client = async () => {
    while (next < REQUESTS) {
      const number = next++;
      const { path = "/v1/render", init, check } = HUNDRED[number % 100] ?? expect.unreachable();
      const answer = await fetch(new URL(path, fleet.edge.url), init(number));
      ids.add(answer.headers.get("X-Request-Id"));
      await check(answer, number);
    }
  };
  const clients = Promise.all(Array.from({ length: CLIENTS }, client));
  await expect.poll(() => next, { timeout: 120_000 }).toBeGreaterThan(REQUESTS / 3);
  const rolled = fleet.roll();
  await clients;
  expect(await rolled).toEqual([0, 0]);
  expect(ids.size).toBe(REQUESTS);
});
