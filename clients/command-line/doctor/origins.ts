/**
 * Asks each origin that the caller names directly: does it answer as the edge does?
 */
import { CAPABILITIES_PATH, CAPABILITIES_SCHEMA, capabilityDifferences } from "../../../protocol/capabilities.ts";
import { BACKEND_TOKEN_HEADER, LIMITS_HEADER, PROBLEM_CAUSE_HEADER } from "../../../protocol/headers.ts";
import { LIMIT_SETTINGS, limitsFingerprint, publishedLimits } from "../../../rules/limits.ts";
import { TYPST_VERSION } from "../../../typst/typst-release.mjs";
import { type Exchange, faultIn, isOk, jsonIn, outcomeOf, problemIn } from "./answers.ts";
import { check, found, group, ok, skipped } from "./check.ts";
import { known } from "./examination.ts";
import { DISK_FULL, failure, OTHER_RELEASE, PROCESS_LIMIT, warning } from "./faults.ts";
import { medianOf, SLOW_RENDER_MILLISECONDS } from "./latency.ts";
import { metricsIn, sumOf } from "./metrics-text.ts";
import { SMALL_RENDER } from "./renders.ts";
import { rejectsAsPublished } from "./rules.ts";
import type { Server } from "./server.ts";
import { HEALTH, WRONG_TOKEN } from "./service.ts";

const BROKEN_RENDER = { source: '#panic("doctor")' };
const TIMED_RENDERS = 3;
/** At most this many differences in what is installed are listed. */
const MAX_NAMED = 5;

export const ORIGINS = group("Origins, asked directly", null, [
  check("origin-health", "/health is a backend's, with this program's Typst", {
    needs: [],
    faults: {
      edge: failure`This is an edge or an old backend: its /health names no Typst. → Give the URL of the backend.`,
      "other-typst": OTHER_RELEASE,
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
  check("origin-ready", "/ready says that it accepts work", {
    needs: ["origin-health"],
    faults: {
      "not-ready": failure`It is stopping, or lacks SERVICE_BACKEND_TOKENS. → Wait, or set them and restart it.`,
      "disk-full": DISK_FULL,
      "process-limit": PROCESS_LIMIT,
    },
    outcomes: { service_unavailable: "not-ready" },
    async run(origin) {
      const exchange = await origin.get("ready");
      const cause = exchange.kind === "answer" ? exchange.headers.get(PROBLEM_CAUSE_HEADER) : null;
      if (cause === "disk_full") return found("disk-full", "503");
      if (cause === "process_limit") return found("process-limit", "503");
      return isOk(exchange) ? ok("ready") : exchange;
    },
  }),
  check("origin-token", "it accepts the backend token, and rejects a wrong one", {
    needs: ["origin-health"],
    faults: {
      open: failure`The backend renders for everyone: a proxy adds the token. → Let only the edge add it.`,
      rejected: failure`The token of --backend-token-file is not among SERVICE_BACKEND_TOKENS of this backend.
        → Compare it with the edge's SERVICE_BACKEND_TOKEN: if that one is rejected too, all its renders fail.`,
      "no-tokens": failure`Without SERVICE_BACKEND_TOKENS, it rejects every request. → Set them, and restart it.`,
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
  check("origin-renders", "it renders, and fails, as the edge does", {
    needs: ["token", "origin-token"],
    faults: {
      disagrees: failure`The edge or this origin fails, or the edge uses other origins. → Read the log of the one that fails.`,
    },
    async run(origin, { edge }) {
      if (edge.hasRenderTimedOut) return skipped("renders are not answered");
      const outcomes: string[] = [];
      for (const body of [SMALL_RENDER, BROKEN_RENDER]) {
        const atEdge = endOf(await edge.render(body));
        const exchange = await origin.render(body);
        if (exchange.kind === "no-answer") return exchange;
        const own = endOf(exchange);
        if (atEdge !== own) return found("disagrees", `${own}, at the edge ${atEdge}`);
        outcomes.push(own);
      }
      return ok(outcomes.join(", "));
    },
  }),
  check("origin-vectors", "it rejects what the published vectors reject", {
    needs: ["token", "origin-token"],
    faults: { otherwise: failure`Its rules differ from those that the edge publishes. → Deploy one release to all.` },
    run: rejectsAsPublished,
  }),
  check("origin-limits", "it has the limits of the edge", {
    needs: ["token", "origin-token"],
    faults: { differ: failure`Its SERVICE_MAX_ variables differ from the edge's. → Set the same, and restart it.` },
    async run(origin, { constraints }) {
      const { limits } = known(constraints);
      const knownNames = [...Object.keys(LIMIT_SETTINGS), "effective_max_files"];
      if (Object.keys(limits).toSorted().join() !== knownNames.toSorted().join()) {
        return skipped("this program has a different list of limits");
      }
      const before = await mismatchesOf(origin);
      // This request is rejected before it takes a slot.
      const fingerprint = { [LIMITS_HEADER]: limitsFingerprint(publishedLimits(limits)) };
      const exchange = await origin.render({ source: "" }, { ...origin.credentials, ...fingerprint });
      if (problemIn(exchange) === null) return exchange;
      const after = await mismatchesOf(origin);
      if (before === null || after === null) return skipped("its /metrics cannot be read");
      return after > before ? found("differ", "it has counted a mismatch") : ok("as published");
    },
  }),
  check("origin-capabilities", "it has what the edge publishes, and no more", {
    needs: ["capabilities", "origin-health"],
    faults: { differs: warning`Its fonts, packages or release differ. → Install the same on all backends.` },
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
  check("origin-latency", "a small render without the edge: median of three", {
    needs: ["origin-renders"],
    faults: { slow: warning`The host is overloaded or starting. → Look at load, disk and SERVICE_WARM_RENDERS.` },
    async run(origin) {
      if (origin.hasRenderTimedOut) return skipped("renders are not answered");
      const render = await medianOf(TIMED_RENDERS, () => origin.render(SMALL_RENDER));
      if (render === null) return skipped("not every request was answered");
      const isSlow = render.milliseconds > SLOW_RENDER_MILLISECONDS;
      return found(isSlow ? "slow" : null, `${render.milliseconds} ms`, { renderMilliseconds: render.milliseconds });
    },
  }),
]);

/** How a render ended, in words without a request id. */
function endOf(exchange: Exchange): string {
  if (isOk(exchange)) return `200 ${exchange.headers.get("Content-Type")}`;
  return faultIn(exchange).seen.replace(/, request .*$/, "");
}

async function mismatchesOf(origin: Server): Promise<number | null> {
  return sumOf(metricsIn(await origin.get("metrics")), "service_limits_mismatches_total");
}
