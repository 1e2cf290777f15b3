/**
 * What the deployment publishes: limits, versions of the rules, conformance vectors, static documents and what is
 * installed.
 */
import { isDeepStrictEqual } from "node:util";
import * as v from "valibot";
import { CAPABILITIES_PATH, CAPABILITIES_SCHEMA } from "../../../protocol/capabilities.ts";
import { RULES_VERSION } from "../../../rules/files-rules.ts";
import { LIMIT_SETTINGS, MAX_KEYS } from "../../../rules/limits.ts";
import { OUTPUT_RULES_VERSION } from "../../../rules/output-rules.ts";
import { PROBLEMS } from "../../../rules/problem.ts";
import { checkRequest, runVectors, vectorRequests } from "../../../rules/published-rules.ts";
import { TYPST_VERSION } from "../../../typst/typst-release.mjs";
import type { PublishedConstraints } from "../../typescript/client.ts";
import { sizeInWords } from "../../typescript/size-in-words.ts";
import { isOk, jsonIn, outcomeOf, problemIn } from "./answers.ts";
import { check, type Finding, found, group, ok, skipped } from "./check.ts";
import { type Examination, known } from "./examination.ts";
import { failure, MIXED_RELEASES, OTHER_RELEASE, SAME_VERSION, warning } from "./faults.ts";
import type { Server } from "./server.ts";

/** At most this many vectors are sent as requests. */
const MAX_SENT_VECTORS = 6;
const MAX_VECTOR_BYTES = 10_000;

const ERROR_CODES = v.object({
  codes: v.array(v.object({ code: v.string(), status: v.number(), origin: v.string() })),
});
const INTERFACE = v.object({ info: v.object({ version: v.string() }) });

const VERSION_FAULTS = {
  older: warning`The deployment is older than this program, and has other rules. → ${SAME_VERSION}`,
  newer: warning`The deployment is newer than this program. → Update this program, and clients with the old rules.`,
};

export const RULES = group("Limits and rules", "token", [
  check("limits", "each limit is published, in the range of its setting", {
    faults: {
      missing: warning`The deployment is of an older version, which does not have this limit. → ${SAME_VERSION}`,
      "out-of-range": failure`A limit has a value that no setting allows: something changes the document in transit.
        → Find out what changes the response, and which version is deployed.`,
    },
    run(_edge, { constraints }) {
      const limits: Readonly<Record<string, number>> = { ...known(constraints).limits };
      const { effective_max_files: files = 0, max_inline_files = files } = limits;
      const effective = Math.min(MAX_KEYS, max_inline_files);
      const missing = Object.keys(LIMIT_SETTINGS).filter((name) => limits[name] === undefined);
      const wrong = Object.entries({ ...LIMIT_SETTINGS, effective_max_files: { min: effective, max: effective } })
        .filter(([name, { min, max }]) => (limits[name] ?? min) < min || (limits[name] ?? max) > max)
        .map(([name]) => name);
      if (wrong.length > 0) return found("out-of-range", wrong.map((name) => `${name} = ${limits[name]}`).join(", "));
      if (missing.length > 0) return found("missing", missing.join(", "));
      return ok(`${files} files, ${sizeInWords(limits.max_request_body_bytes ?? 0)} in a request`, limits);
    },
  }),
  check("rules-version", "rules_version is this program's", {
    faults: VERSION_FAULTS,
    run: (_edge, { constraints }) => compare(known(constraints).rules_version, RULES_VERSION),
  }),
  check("output-rules-version", "output_rules_version is this program's", {
    faults: VERSION_FAULTS,
    run: (_edge, { constraints: all }) => compare(known(all).output_rules.output_rules_version, OUTPUT_RULES_VERSION),
  }),
  check("vectors", "the published vectors agree with this program", {
    faults: { disagree: failure`Clients get wrong verdicts here. → Use one version of this program and the service.` },
    run(_edge, examination) {
      const constraints = known(examination.constraints);
      const disagreements = runVectors(constraints).length;
      const vectors = vectorRequests(constraints).length;
      return found(disagreements > 0 ? "disagree" : null, `${disagreements} of ${vectors} disagree`, { vectors });
    },
  }),
  check("vectors-enforced", "the edge rejects what its vectors reject", {
    needs: ["vectors"],
    faults: { otherwise: failure`The edge does not do what it publishes. → Look for mixed versions, or a proxy.` },
    run: rejectsAsPublished,
  }),
  documentCheck("files-key-rules", (published) => {
    const { limits, output_rules, ...rest } = published;
    return rest;
  }),
  documentCheck("output-rules", ({ output_rules }) => output_rules),
  check("error-codes", "error-codes.json has each code, status and origin", {
    needs: ["health"],
    faults: { incomplete: failure`The static files are of another version. → Deploy the edge again, purge caches.` },
    async run(edge) {
      const exchange = await edge.get("error-codes.json");
      const document = jsonIn(exchange, ERROR_CODES);
      if (document === null) return exchange;
      const published = new Set(document.codes.map(({ code, status, origin }) => `${code} ${status} ${origin}`));
      const absent = Object.entries(PROBLEMS)
        .filter(([code, { status, origin }]) => !published.has(`${code} ${status} ${origin}`))
        .map(([code]) => code);
      return absent.length > 0 ? found("incomplete", `without ${absent.join(", ")}`) : ok(`${published.size} codes`);
    },
  }),
  check("openapi", "openapi.json is served", {
    needs: ["health"],
    async run(edge) {
      const exchange = await edge.get("openapi.json");
      const document = jsonIn(exchange, INTERFACE);
      return document === null ? exchange : ok(`version ${document.info.version}`);
    },
  }),
  check("capabilities", "capabilities.json has one Typst, this program's", {
    needs: ["health"],
    faults: {
      "no-origin": failure`No origin has reported its capabilities to the edge. → See origins-up, and SERVICE_BACKEND_URLS.`,
      "several-typst": warning`${MIXED_RELEASES}`,
      "other-typst": OTHER_RELEASE,
    },
    outcomes: { service_unavailable: "no-origin" },
    async run(edge, examination) {
      const exchange = await edge.get(CAPABILITIES_PATH.slice(1));
      if (outcomeOf(exchange) === "not_found") return skipped("a version without capabilities");
      const capabilities = jsonIn(exchange, CAPABILITIES_SCHEMA);
      if (capabilities === null) return exchange;
      examination.capabilities = capabilities;
      const { typst_versions: versions, fonts, packages } = capabilities;
      const seen = `Typst ${versions.join(" and ")}, ${fonts.length} font families, ${packages.length} packages`;
      const fault = versions.length > 1 ? "several-typst" : versions[0] === TYPST_VERSION ? null : "other-typst";
      return found(fault, seen, { fontFamilies: fonts.length, packages: packages.length });
    },
  }),
]);

function compare(published: number, own: number): Finding<keyof typeof VERSION_FAULTS> {
  if (published === own) return ok(String(published));
  return found(published < own ? "older" : "newer", `${published}; this program has ${own}`);
}

function documentCheck(id: string, partOf: (constraints: PublishedConstraints) => unknown) {
  return check(id, `${id}.json is what /v1/constraints says`, {
    faults: { differs: failure`Static files and Worker differ in version. → Deploy both together, purge caches.` },
    async run(edge, { constraints }) {
      const exchange = await edge.get(`${id}.json`);
      const document = jsonIn(exchange, v.unknown());
      if (document === null) return exchange;
      const isSame = isDeepStrictEqual(document, partOf(known(constraints)));
      return isSame ? ok("as published") : found("differs", "not what /v1/constraints says");
    },
  });
}

/** Sends requests that must be rejected, until one gets another answer. Used for the edge and for origins. */
export async function rejectsAsPublished(server: Server, { constraints }: Examination): Promise<Finding<"otherwise">> {
  const requests = rejectedRequests(known(constraints));
  if (requests.length === 0) return skipped("no vectors that could be sent");
  for (const { request, code, rule } of requests) {
    const exchange = await server.render(request);
    const problem = problemIn(exchange);
    if (problem === null && !isOk(exchange)) return exchange;
    const context: object = problem?.context ?? {};
    if (problem?.code !== code || ("rule" in context ? context.rule : null) !== rule) {
      const wanted = rule === null ? code : `${code} (${rule})`;
      return found("otherwise", `${wanted} expected, ${problem?.code ?? "200"} answered`);
    }
  }
  return ok(`${requests.length} of ${requests.length} as published`);
}

/**
 * A sample of the published rejections as requests, spread evenly over the list. They are rejected before they take a
 * slot.
 */
function rejectedRequests(constraints: PublishedConstraints) {
  const requests = vectorRequests(constraints).flatMap(({ request, vector: { code, rule = null } }) => {
    // Some limits are checked before the rules, so vectors that exceed a limit of this deployment are left out.
    const check = checkRequest(request, constraints);
    const isSame = check.verdict === "refused" && check.problem.code === code;
    return isSame && JSON.stringify(request).length < MAX_VECTOR_BYTES ? [{ request, code, rule }] : [];
  });
  const step = Math.ceil(requests.length / MAX_SENT_VECTORS);
  return requests.filter((_, index) => index % step === 0);
}
