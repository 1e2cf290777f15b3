/** `POST /v1/render` of a backend in three steps: receive a valid request, render it in a slot, reply. */
import type { ServerResponse } from "node:http";
import type { FastifyReply, FastifyRequest } from "fastify";
import { validateToken } from "../../protocol/authentication.ts";
import {
  BACKEND_TOKEN_HEADER,
  CALLER_HEADER,
  CALLER_NAME_PATTERN,
  formatBackendLoad,
  formatServerTiming,
  LOAD_HEADER,
  PROBE_CALLER,
  SERVER_TIMING_HEADER,
  TIME_BUDGET_HEADER,
} from "../../protocol/headers.ts";
import { type Problem, renderQueueFull, serviceUnavailable } from "../../rules/problem.ts";
import { type ParsedRequest, parseRenderRequest } from "../../rules/render-request.ts";
import { queueDeadlineMilliseconds } from "../../rules/render-time.ts";
import { validateMediaType } from "../../rules/request-head.ts";
import type { Reservation } from "../admission/byte-budget.ts";
import type { Delivery, RequestReport } from "../observe/render-metrics.ts";
import { CLIENT_GONE, type RenderFailure, refuse } from "../render/outcome.ts";
import { render, type ValidRequest } from "../render/render.ts";
import { type PhaseRun, PhaseTimer, phaseSeconds } from "../render/render-time.ts";
import type { Deliveries } from "./delivery.ts";
import { reportFailure, sendProblem } from "./problem-response.ts";
import { discardBody, readBody, readHead } from "./read-body.ts";
import { readLoad, type ServiceParts } from "./service-parts.ts";

const UNNAMED_CALLER = "unnamed";

interface Sender {
  readonly caller: string;
  readonly forbidden: Problem | null;
  /** How long the edge will still wait for the answer; infinite if it does not say. */
  readonly timeBudgetMilliseconds: number;
}

type Reception =
  | { readonly kind: "received"; readonly body: Uint8Array; readonly renderRequest: ParsedRequest }
  | { readonly kind: "failed"; readonly outcome: RenderFailure; readonly requestBytes?: number };

export class RenderRoute {
  readonly #parts: ServiceParts;
  #underWay = 0;

  constructor(parts: ServiceParts) {
    this.#parts = parts;
  }

  /** Requests that have begun and whose answers are not completely delivered. */
  get underWay(): number {
    return this.#underWay;
  }

  readonly handle = async (request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> => {
    const { settings, observer, metrics, deliveries } = this.#parts;
    this.#underWay++;
    try {
      const sender = readSender(request, settings.backendTokens);
      const begun = observer.beginRequest(request, sender.caller, sender.forbidden === null);
      const report = await this.#receiveAndRender(request, sender, watchClient(reply.raw));
      metrics.countRender(report);
      reply.header(LOAD_HEADER, formatBackendLoad(readLoad(this.#parts)));
      observer.endRequest(begun, report, await sendReply(request, reply, report, deliveries));
      return reply;
    } finally {
      this.#underWay--;
    }
  };

  /** Only this function holds the body: while the answer is delivered, its memory is free again. */
  async #receiveAndRender(request: FastifyRequest, sender: Sender, clientGone: AbortSignal): Promise<RequestReport> {
    const arrivedAt = performance.now();
    const { caller } = sender;
    const { settings, bodyMemory, machineWatch } = this.#parts;
    const memory = bodyMemory.open(caller);
    try {
      const timer = new PhaseTimer();
      const receiving = timer.time("receive", () => this.#receive(request, sender, memory));
      const reception = await receiving.catch((error: unknown) => fail(refuse(reportFailure(request, error))));
      if (reception.kind === "failed") {
        const { outcome, requestBytes } = reception;
        return { outcome, format: "none", runs: timer.runs, requestBytes };
      }
      const { body, renderRequest } = reception;
      const { format } = renderRequest.output;
      const answerBy = arrivedAt + sender.timeBudgetMilliseconds;
      const valid = { body, request: renderRequest, caller, answerBy };
      // The edge cannot see how long the upload took, because of buffers on the way, so that counts against its budget.
      const deadline = queueDeadlineMilliseconds(settings, Math.max(0, answerBy - performance.now()));
      const rendering = await this.#renderInSlot(valid, deadline, clientGone).catch(async (error: unknown) => {
        const lack = await machineWatch.findShortage();
        return { outcome: refuse(reportFailure(request, error, lack ?? undefined)), runs: [] };
      });
      const runs = [...timer.runs, ...rendering.runs];
      return { ...rendering, runs, format, requestBytes: body.length };
    } finally {
      memory.release();
    }
  }

  async #receive(request: FastifyRequest, { forbidden }: Sender, memory: Reservation): Promise<Reception> {
    const { settings, stage } = this.#parts;
    if (forbidden !== null) return fail(refuse(forbidden));
    if (stage.current === "refusing") return fail(refuse(serviceUnavailable("draining")));
    const reading = await readBody(request.raw, settings.limits, memory);
    if (reading.kind !== "body") return fail(reading);
    const { body } = reading;
    const wrongMediaType = validateMediaType(readHead(request.raw));
    if (wrongMediaType !== null) return fail(refuse(wrongMediaType));
    const parsed = parseRenderRequest(body, settings.limits);
    return parsed.ok ? { kind: "received", body, renderRequest: parsed.request } : fail(refuse(parsed.problem), body);
  }

  async #renderInSlot(
    valid: ValidRequest,
    deadlineMilliseconds: number,
    clientGone: AbortSignal,
  ): Promise<Pick<RequestReport, "outcome" | "runs" | "peakMemoryBytes" | "pdfCheck">> {
    const { queue } = this.#parts;
    const applicant = { caller: valid.caller, signal: clientGone, deadlineMilliseconds };
    const startMilliseconds = performance.now();
    const admission =
      valid.caller === PROBE_CALLER
        ? await queue.runIfFree(() => render(this.#parts, valid, clientGone))
        : await queue.run(applicant, async (withdrawn) => {
            const stop = withdrawn === null ? clientGone : AbortSignal.any([clientGone, withdrawn]);
            const report = await render(this.#parts, valid, stop);
            const isWithdrawn = report.outcome.kind === "client-gone" && !clientGone.aborted;
            return isWithdrawn ? null : report;
          });
    if (admission.kind === "left") return { outcome: CLIENT_GONE, runs: [] };
    const milliseconds = admission.waitedSeconds * 1000;
    const queued: PhaseRun = { phase: "queue", startMilliseconds, milliseconds };
    if (admission.kind === "done") return { ...admission.result, runs: [queued, ...admission.result.runs] };
    return { outcome: refuse(renderQueueFull(admission.cause, admission.retryAfterSeconds)), runs: [queued] };
  }
}

function fail(outcome: RenderFailure, body?: Uint8Array): Reception {
  return { kind: "failed", outcome, ...(body !== undefined && { requestBytes: body.length }) };
}

/** @returns null if there was no file to deliver */
async function sendReply(
  request: FastifyRequest,
  reply: FastifyReply,
  { outcome, runs }: RequestReport,
  deliveries: Deliveries,
): Promise<Delivery | null> {
  // Callers do not see `receive`, which is the transfer from the edge.
  const { receive: _internal, ...phases } = phaseSeconds(runs);
  const timing = formatServerTiming(
    Object.fromEntries(Object.entries(phases).map(([phase, seconds]) => [phase, seconds * 1000])),
  );
  if (timing !== "") reply.header(SERVER_TIMING_HEADER, timing);
  switch (outcome.kind) {
    case "rendered":
      return deliveries.deliver(reply, outcome.file, outcome.output);
    case "refused":
      if (!(await discardBody(request.raw))) reply.header("Connection", "close");
      sendProblem(request, reply, outcome.problem);
      return null;
    case "client-gone":
      reply.raw.destroy();
      return null;
  }
}

/** Null if the request has a token of the edge. */
export function refuseWithoutToken(request: FastifyRequest, tokens: readonly string[]): Problem | null {
  return validateToken(headerField(request, BACKEND_TOKEN_HEADER), tokens, BACKEND_TOKEN_HEADER);
}

/** The name of a caller is believed only with the edge's token. */
function readSender(request: FastifyRequest, tokens: readonly string[]): Sender {
  const forbidden = refuseWithoutToken(request, tokens);
  const name = headerField(request, CALLER_HEADER);
  const isNamed = forbidden === null && CALLER_NAME_PATTERN.test(name);
  const timeBudget = headerField(request, TIME_BUDGET_HEADER);
  const timeBudgetMilliseconds = /^[0-9]{1,9}$/.test(timeBudget) ? Number(timeBudget) : Number.POSITIVE_INFINITY;
  return { caller: isNamed ? name : UNNAMED_CALLER, forbidden, timeBudgetMilliseconds };
}

function headerField({ headers }: FastifyRequest, name: string): string {
  const value = headers[name.toLowerCase()];
  return typeof value === "string" ? value : "";
}

/** Aborted when the response is over: for a client that leaves, that is before its render. */
function watchClient(response: ServerResponse): AbortSignal {
  const gone = new AbortController();
  response.once("close", () => gone.abort());
  return gone.signal;
}
