/** Asks each origin that the caller names directly: does it answer as the edge does? */
import { BACKEND_TOKEN_HEADER } from "../../../protocol/headers.ts";
import { TYPST_VERSION } from "../../../typst/typst-release.mjs";
import { codeOf, faultIn, isOk, readJson } from "./answers.ts";
import { type CheckGroup, defineCheck, observe, skipCheck } from "./check.ts";
import { failure, OTHER_RELEASE } from "./faults.ts";
import { BROKEN_RENDER, INVALID_RENDER } from "./rejections.ts";
import { SMALL_RENDER } from "./renders.ts";
import type { Server } from "./server.ts";
import { HEALTH, WRONG_TOKEN } from "./service.ts";

export const ORIGINS: CheckGroup = {
  name: "Origins, asked directly",
  needs: ["token", "origin-token"],
  checks: [
    defineCheck("origin-health", "it is a backend with this program's Typst, and ready", {
      needs: [],
      faults: {
        edge: failure`This is an edge or an old backend: its /health names no Typst. → Give the URL of the backend.`,
        "other-typst": OTHER_RELEASE,
        "not-ready": failure`It is stopping, lacks SERVICE_BACKEND_TOKENS, or has no disk space or processes left.
          → Read the detail of its /ready: docs/monitoring.md has what to do about disk and processes.`,
      },
      faultOfCode: { service_unavailable: "not-ready" },
      async run(origin) {
        const exchange = await origin.get("health");
        const health = readJson(exchange, HEALTH);
        if (health === null) return exchange;
        if (health.typst === undefined) return observe("edge", "no Typst");
        const seen = `Typst ${health.typst}, sandbox ${health.sandbox}`;
        if (health.typst !== TYPST_VERSION) return observe("other-typst", seen);
        const ready = await origin.get("ready");
        return isOk(ready) ? observe(null, seen) : ready;
      },
    }),
    defineCheck("origin-token", "it accepts the backend token, and rejects a wrong one", {
      needs: ["origin-health"],
      faults: {
        open: failure`The backend renders for everyone: a proxy adds the token. → Let only the edge add it.`,
        rejected: failure`The token of --backend-token-file is not among SERVICE_BACKEND_TOKENS of this backend.
          → Compare it with the edge's SERVICE_BACKEND_TOKEN: if that one is rejected too, all its renders fail.`,
        "no-tokens": failure`Without SERVICE_BACKEND_TOKENS, it rejects every request. → Set them, and restart it.`,
      },
      faultOfCode: { 200: "open", service_unavailable: "no-tokens" },
      async run(origin, { target }) {
        const wrong = await origin.render(SMALL_RENDER, { [BACKEND_TOKEN_HEADER]: WRONG_TOKEN });
        if (codeOf(wrong) !== "forbidden") return wrong;
        if (target.backendToken === "") return skipCheck("no backend token: --backend-token-file");
        const right = await origin.render(INVALID_RENDER);
        if (codeOf(right) === "forbidden") return observe("rejected", "403");
        return right.kind === "answer" && right.problem !== null ? observe(null, "403 without it") : right;
      },
    }),
    defineCheck("origin-renders", "it renders, and refuses, as the edge does", {
      faults: {
        disagrees: failure`The edge or this origin fails, has other rules, or the edge uses other origins.
          → Deploy one release to all, and read the log of the one that fails.`,
      },
      async run(origin, { edge }) {
        const outcomes: string[] = [];
        for (const body of [SMALL_RENDER, BROKEN_RENDER, INVALID_RENDER]) {
          const [atEdge, own] = [await describeRender(edge, body), await describeRender(origin, body)];
          if (own !== atEdge) return observe("disagrees", `${own}, at the edge ${atEdge}`);
          outcomes.push(own);
        }
        return observe(null, outcomes.join(", "));
      },
    }),
  ],
};

/** Without a request id, so that two ends of the same kind are equal. */
async function describeRender(server: Server, body: object): Promise<string> {
  const exchange = await server.render(body);
  if (isOk(exchange)) return `200 ${exchange.headers.get("Content-Type")}`;
  return faultIn(exchange).seen.replace(/, request .*$/, "");
}
