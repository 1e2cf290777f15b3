/**
 * Each origin that the caller names, asked directly: does it answer as the edge does?
 */
import { TYPST_VERSION } from "../../machine/typst-release.mjs";
import { CAPABILITIES_PATH, CAPABILITIES_SCHEMA, capabilityDifferences } from "../../protocol/capabilities.ts";
import { BACKEND_TOKEN_HEADER, LIMITS_HEADER } from "../../protocol/headers.ts";
import { LIMIT_SETTINGS, limitsFingerprint, publishedLimits } from "../../rules/limits.ts";
import { type Exchange, faultIn, isOk, jsonIn, outcomeOf, problemIn } from "./answers.ts";
import { check, found, group, ok, skipped } from "./check.ts";
import { known } from "./examination.ts";
import { failure, warning } from "./faults.ts";
import { medianOf, SLOW_RENDER_MILLISECONDS } from "./latency.ts";
import { metricsIn } from "./metrics.ts";
import { sumOf } from "./metrics-text.ts";
import { SMALL_RENDER } from "./renders.ts";
import { rejectsAsPublished } from "./rules.ts";
import type { Server } from "./server.ts";
import { HEALTH, WRONG_TOKEN } from "./service.ts";

const BROKEN_RENDER = { source: '#panic("doctor")' };
const TIMED_RENDERS = 3;
/** Differences of what is installed that are named. */
const MAX_NAMED = 5;

export const ORIGINS = group(
  "Origins, asked directly",
  [
    check("origin-health", {
      title: "/health is that of a backend",
      looksAt: "Status 200, the version of Typst and the sandbox",
      faults: {
        edge: failure`This URL leads to an edge, or to an older backend: its /health names no Typst.
          → Give the URL of the backend itself.`,
        "other-typst": warning`The backend is of another release than this program.
          → Deploy the same release everywhere, or use the doctor of that release.`,
      },
      async run(origin) {
        const exchange = await origin.get("health");
        const health = jsonIn(exchange, HEALTH);
        if (health === null) return exchange;
        if (health.typst === undefined) return found("edge", "no Typst");
        const fault = health.typst === TYPST_VERSION ? null : "other-typst";
        return found(fault, `Typst ${health.typst}, sandbox ${health.sandbox}`);
      },
    }),
    check("origin-ready", {
      title: "/ready says that it accepts work",
      looksAt: "Status 200",
      needs: ["origin-health"],
      faults: {
        "not-ready": failure`The backend is stopping (SIGTERM), or has no SERVICE_BACKEND_TOKENS.
          → If it is not being replaced just now, set its tokens and restart it.`,
      },
      outcomes: { service_unavailable: "not-ready" },
      async run(origin) {
        const exchange = await origin.get("ready");
        return isOk(exchange) ? ok("ready") : exchange;
      },
    }),
    check("origin-token", {
      title: "it asks for the backend token",
      looksAt: "A render with a wrong token is answered 403, and one with that of `--backend-token-file` is not",
      needs: ["origin-health"],
      faults: {
        open: failure`The backend renders for anybody who reaches it: a proxy in front adds the token.
          → Let nothing but the edge add X-Service-Backend-Token.`,
        rejected: failure`
          The token of --backend-token-file is not among SERVICE_BACKEND_TOKENS of this backend.
          → Compare it with the edge's SERVICE_BACKEND_TOKEN: if that one is rejected too, all its renders fail.`,
        "no-tokens": failure`The backend has no SERVICE_BACKEND_TOKENS and rejects everybody.
          → Set it to the edge's SERVICE_BACKEND_TOKEN and restart the backend.`,
      },
      outcomes: { 200: "open", service_unavailable: "no-tokens" },
      async run(origin, { target }) {
        const wrong = await origin.render(SMALL_RENDER, { [BACKEND_TOKEN_HEADER]: WRONG_TOKEN });
        if (outcomeOf(wrong) !== "forbidden") return wrong;
        if (target.backendToken === "") return skipped("no backend token: --backend-token-file");
        const right = await origin.render(BROKEN_RENDER);
        if (outcomeOf(right) === "forbidden") return found("rejected", "403");
        return isOk(right) || problemIn(right) !== null ? ok("403 without it") : right;
      },
    }),
    check("origin-renders", {
      title: "it renders as the edge does",
      looksAt: "A small template and one that panics end with the same status and code at the edge and at this origin",
      needs: ["token", "origin-token"],
      faults: {
        disagrees: failure`
          The origin and the edge answer differently: one of them is broken, or the edge uses other origins.
          → If the edge fails, check its connection to the origins; if the origin does, look up the request in its log.`,
      },
      async run(origin, examination) {
        if (examination.rendersObstacle === "renders are not answered") return skipped(examination.rendersObstacle);
        const outcomes: string[] = [];
        for (const body of [SMALL_RENDER, BROKEN_RENDER]) {
          const atEdge = endOf(await examination.render(body));
          const exchange = await origin.render(body);
          if (exchange.kind === "no-answer") return exchange;
          const own = endOf(exchange);
          if (atEdge !== own) return found("disagrees", `${own}, at the edge ${atEdge}`);
          outcomes.push(own);
        }
        return ok(outcomes.join(", "));
      },
    }),
    check("origin-vectors", {
      title: "it keeps the published rules",
      looksAt:
        "Some of the rejected conformance vectors as requests: the status, code and rule that the edge publishes",
      needs: ["token", "origin-token"],
      faults: {
        otherwise: failure`The backend validates by other rules than the edge publishes: they are of different releases.
          → Deploy the same release to the edge and all backends.`,
      },
      run: rejectsAsPublished,
    }),
    check("origin-limits", {
      title: "it has the limits of the edge",
      looksAt: "A request with the published limits does not raise its `service_limits_mismatches_total`",
      needs: ["token", "origin-token"],
      faults: {
        differ: failure`SERVICE_MAX_ variables of this backend differ from those of the edge.
          → Set the same limits on both, and restart the backend.`,
      },
      async run(origin, { constraints }) {
        const { limits } = known(constraints);
        const knownNames = [...Object.keys(LIMIT_SETTINGS), "effective_max_files"];
        if (Object.keys(limits).toSorted().join() !== knownNames.toSorted().join()) {
          return skipped("the deployment has other limits than this program knows");
        }
        const before = await mismatchesOf(origin);
        // A request that is rejected before it costs a slot.
        const fingerprint = { [LIMITS_HEADER]: limitsFingerprint(publishedLimits(limits)) };
        const exchange = await origin.render({ source: "" }, { ...origin.credentials, ...fingerprint });
        if (problemIn(exchange) === null) return exchange;
        const after = await mismatchesOf(origin);
        if (before === null || after === null) return skipped("its /metrics cannot be read");
        return after > before ? found("differ", "it has counted a mismatch") : ok("as published");
      },
    }),
    check("origin-capabilities", {
      title: "it has what the edge publishes, and no more",
      looksAt: "Its own `/capabilities.json` against that of the edge",
      needs: ["capabilities", "origin-health"],
      faults: {
        differs: warning`Origins have different fonts, packages or releases, or this one has just been changed.
          → Install the same on all backends: only what all of them have is published.`,
      },
      async run(origin, { capabilities }) {
        const exchange = await origin.get(CAPABILITIES_PATH.slice(1));
        if (outcomeOf(exchange) === "not_found") return skipped("a version without capabilities");
        const own = jsonIn(exchange, CAPABILITIES_SCHEMA);
        if (own === null) return exchange;
        const differences = capabilityDifferences([known(capabilities), own]);
        if (differences.length === 0) return ok("as published");
        const more = differences.length > MAX_NAMED ? ` and ${differences.length - MAX_NAMED} more` : "";
        return found("differs", `${differences.slice(0, MAX_NAMED).join(", ")}${more}`);
      },
    }),
    check("origin-latency", {
      title: "a small render, without the edge",
      looksAt: "The median of three renders that the origin is asked for directly",
      needs: ["origin-renders"],
      faults: {
        slow: warning`A page of one word takes over five seconds there: the host is overloaded or starting.
          → Look at its load and disk, and at SERVICE_WARM_RENDERS.`,
      },
      async run(origin, { rendersObstacle }) {
        if (rendersObstacle === "renders are not answered") return skipped(rendersObstacle);
        const render = await medianOf(TIMED_RENDERS, () => origin.render(SMALL_RENDER));
        if (render === null) return skipped("not every request was answered");
        const isSlow = render.milliseconds > SLOW_RENDER_MILLISECONDS;
        return found(isSlow ? "slow" : null, `${render.milliseconds} ms`, { renderMilliseconds: render.milliseconds });
      },
    }),
  ],
  true,
);

/** How a render ended, in words without a request id. */
function endOf(exchange: Exchange): string {
  if (isOk(exchange)) return `200 ${exchange.headers.get("Content-Type")}`;
  return faultIn(exchange).seen.replace(/, request .*$/, "");
}

async function mismatchesOf(origin: Server): Promise<number | null> {
  return sumOf(metricsIn(await origin.get("metrics")), "service_limits_mismatches_total");
}
