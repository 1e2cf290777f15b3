/**
 * Each origin that the caller names, asked directly: does it answer as the edge does?
 */
import { TYPST_VERSION } from "../../machine/typst-release.mjs";
import { BACKEND_TOKEN_HEADER, LIMITS_HEADER } from "../../protocol/headers.ts";
import { LIMIT_SETTINGS, limitsFingerprint } from "../../rules/limits.ts";
import { faultIn, isAnswer, jsonIn, problemIn } from "./answer-faults.ts";
import { originCapabilities } from "./capabilities.ts";
import { type CheckGroup, found, ok, originCheck, skipped } from "./check.ts";
import { metricsIn } from "./edge-metrics.ts";
import type { OriginUnderTest } from "./examination.ts";
import { isRecord } from "./json-values.ts";
import { sumOf } from "./metrics-text.ts";
import type { Exchange } from "./probe.ts";
import { SMALL_RENDER } from "./renders.ts";
import { compareRequests, limitsOf, rejectedRequests } from "./rules.ts";
import { constraintsOf, WRONG_TOKEN } from "./service.ts";

const BROKEN_RENDER = { source: '#panic("doctor")' };
const NO_TOKEN = "no backend token: --backend-token-file";

const originHealth = originCheck({
  id: "origin-health",
  title: "/health is that of a backend",
  looksAt: "Status 200, the version of Typst and the sandbox",
  needs: [],
  faults: {
    edge: {
      severity: "failure",
      cause: "This URL leads to an edge, or to an older backend: its /health names no Typst.",
      advice: "Give the URL of the backend itself.",
    },
    "other-typst": {
      severity: "warning",
      cause: "The backend is of another release than this program.",
      advice: "Deploy the same release everywhere, or use the doctor of that release.",
    },
  },
  async run(_examination, origin) {
    const exchange = await origin.get("health");
    if (!isAnswer(exchange, 200)) return faultIn(exchange);
    const value = jsonIn(exchange);
    if (!isRecord(value) || value.status !== "ok") return faultIn(exchange);
    if (typeof value.typst !== "string") return found("edge", "no Typst");
    const seen = `Typst ${value.typst}, sandbox ${value.sandbox}`;
    return value.typst === TYPST_VERSION ? ok(seen) : found("other-typst", seen);
  },
});

const originReady = originCheck({
  id: "origin-ready",
  title: "/ready says that it accepts work",
  looksAt: "Status 200",
  needs: ["origin-health"],
  faults: {
    "not-ready": {
      severity: "failure",
      cause: "The backend is stopping (SIGTERM), or has no SERVICE_BACKEND_TOKENS.",
      advice: "If it is not being replaced just now, set its tokens and restart it.",
    },
  },
  async run(_examination, origin) {
    const exchange = await origin.get("ready");
    if (isAnswer(exchange, 200)) return ok("ready");
    return problemIn(exchange) === null ? faultIn(exchange) : found("not-ready", "503");
  },
});

const originToken = originCheck({
  id: "origin-token",
  title: "it asks for the backend token",
  looksAt: "A render with a wrong token is answered 403, and one with that of `--backend-token-file` is not",
  needs: ["origin-health"],
  faults: {
    open: {
      severity: "failure",
      cause: "The backend renders for anybody who reaches it: a proxy in front adds the token.",
      advice: "Let nothing but the edge add X-Service-Backend-Token.",
    },
    rejected: {
      severity: "failure",
      cause: "The token of --backend-token-file is not among SERVICE_BACKEND_TOKENS of this backend.",
      advice: "Compare it with the edge's SERVICE_BACKEND_TOKEN: if that one is rejected too, all its renders fail.",
    },
    "no-tokens": {
      severity: "failure",
      cause: "The backend has no SERVICE_BACKEND_TOKENS and rejects everybody.",
      advice: "Set it to the edge's SERVICE_BACKEND_TOKEN and restart the backend.",
    },
  },
  async run(_examination, origin) {
    const wrong = await origin.render(SMALL_RENDER, { [BACKEND_TOKEN_HEADER]: WRONG_TOKEN });
    if (isAnswer(wrong, 200)) return found("open", "200 with a wrong token");
    const code = problemIn(wrong)?.code;
    if (code === "service_unavailable") return found("no-tokens", "503 with a wrong token");
    if (code !== "forbidden") return faultIn(wrong);
    if (!origin.hasToken) return skipped(NO_TOKEN);
    const right = await origin.render(BROKEN_RENDER);
    if (problemIn(right)?.code === "forbidden") return found("rejected", "403");
    return problemIn(right) === null ? faultIn(right) : ok("403 without it");
  },
});

const originRenders = originCheck({
  id: "origin-renders",
  title: "it renders as the edge does",
  looksAt: "A small template and one that panics end with the same status and code at the edge and at this origin",
  needs: ["token", "origin-token"],
  faults: {
    disagrees: {
      severity: "failure",
      cause: "The origin and the edge answer differently: one of them is broken, or the edge uses other origins.",
      advice:
        "If the edge fails, check its connection to the origins; if the origin does, find the request id in its log.",
    },
  },
  async run(examination, origin) {
    if (examination.rendersObstacle === "renders are not answered") return skipped(examination.rendersObstacle);
    const outcomes: string[] = [];
    for (const body of [SMALL_RENDER, BROKEN_RENDER]) {
      const atEdge = await examination.render(body);
      const atOrigin = await origin.render(body);
      if (atOrigin.kind === "no-answer") return faultIn(atOrigin);
      const [edge, own] = [outcomeOf(atEdge), outcomeOf(atOrigin)];
      if (edge !== own) return found("disagrees", `${own}, at the edge ${edge}`);
      outcomes.push(own);
    }
    return ok(outcomes.join(", "));
  },
});

function outcomeOf(exchange: Exchange): string {
  if (isAnswer(exchange, 200)) return `200 ${exchange.headers.get("Content-Type")}`;
  return faultIn(exchange).seen.replace(/, request .*$/, "");
}

const originVectors = originCheck({
  id: "origin-vectors",
  title: "it keeps the published rules",
  looksAt: "Some of the rejected conformance vectors as requests: the status, code and rule that the edge publishes",
  needs: ["token", "origin-token"],
  faults: {
    otherwise: {
      severity: "failure",
      cause: "The backend validates by other rules than the edge publishes: they are of different releases.",
      advice: "Deploy the same release to the edge and all backends.",
    },
  },
  async run(examination, origin) {
    return compareRequests(rejectedRequests(examination), (body) => origin.render(body));
  },
});

const originLimits = originCheck({
  id: "origin-limits",
  title: "it has the limits of the edge",
  looksAt: "A request with the published limits does not raise its `service_limits_mismatches_total`",
  needs: ["token", "origin-token"],
  faults: {
    differ: {
      severity: "failure",
      cause: "SERVICE_MAX_ variables of this backend differ from those of the edge.",
      advice: "Set the same limits on both, and restart the backend.",
    },
  },
  async run(examination, origin) {
    const published = constraintsOf(examination).parsed.limits;
    const known = [...Object.keys(LIMIT_SETTINGS), "effective_max_files"];
    if (Object.keys(published).toSorted().join() !== known.toSorted().join()) {
      return skipped("the deployment has other limits than this program knows");
    }
    const before = await mismatchesOf(origin);
    // A request that is rejected before it costs a slot.
    const exchange = await origin.render({ source: "" }, { [LIMITS_HEADER]: limitsFingerprint(limitsOf(examination)) });
    if (problemIn(exchange) === null) return faultIn(exchange);
    const after = await mismatchesOf(origin);
    if (before === null || after === null) return skipped("its /metrics cannot be read");
    return after > before ? found("differ", "it has counted a mismatch") : ok("as published");
  },
});

async function mismatchesOf(origin: OriginUnderTest): Promise<number | null> {
  const samples = metricsIn(await origin.get("metrics"));
  return samples === null ? null : sumOf(samples, "service_limits_mismatches_total");
}

export const DIRECT_ORIGINS: CheckGroup = {
  name: "Origins, asked directly",
  checks: [originHealth, originReady, originToken, originRenders, originVectors, originLimits, originCapabilities],
};
