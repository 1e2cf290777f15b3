/** Does on this machine what the service would do with a request: checks it by the rules, then runs Typst. */
import { constraintsDocument } from "../../../rules/constraints.ts";
import { DEFAULT_LIMITS, type Limits, publishedLimits } from "../../../rules/limits.ts";
import type { Output } from "../../../rules/output-options.ts";
import { asConstraints } from "../../../rules/published-rules.ts";
import { parseRenderRequest } from "../../../rules/render-request.ts";
import type { ServiceProblem } from "../../typescript/client.ts";
import { checkLocally } from "../../typescript/local-check.ts";
import { encodeRequest, type OutputOptions, type RenderRequest } from "../../typescript/render-request.ts";
import { constraintsFile } from "../constraints-file.ts";
import type { Project } from "../project/project.ts";
import { type DataText, requestOf } from "../project/request.ts";
import { locateService } from "../service-location.ts";
import { type Compiled, compileLocally, type LocalSettings } from "./compile.ts";

export type LocalRender =
  | { readonly kind: "refused"; readonly problem: ServiceProblem; readonly request: RenderRequest }
  | { readonly kind: "compiled"; readonly compiled: Compiled; readonly output: Output; readonly limits: Limits };

export interface LocalOptions {
  readonly options: OutputOptions;
  readonly local: Omit<LocalSettings, "limits"> & { readonly url: string | undefined };
}

/**
 * By the constraints that the service last published, or the defaults: it works without a network.
 *
 * @throws CommandError when Typst cannot be started
 */
export async function renderLocally(
  project: Project,
  data: DataText | null,
  { options, local }: LocalOptions,
  signal: AbortSignal,
): Promise<LocalRender> {
  const stored = await constraintsFile((await locateService({ url: local.url })).url).load();
  const constraints = asConstraints(stored?.document) ?? asConstraints(constraintsDocument(DEFAULT_LIMITS));
  if (constraints === null) throw new Error("the rules publish no constraints");
  const request = requestOf(project, data, options);
  const body = encodeRequest(request);
  const check = checkLocally(body, constraints);
  if (check.verdict === "refused") return { kind: "refused", problem: check.problem, request };
  const limits = publishedLimits(constraints.limits);
  const parsed = parseRenderRequest(body, limits);
  if (!parsed.ok) throw new Error("a request that was accepted is not valid");
  const { output } = parsed.request;
  const compiled = await compileLocally({ project, data, output, local: { ...local, limits } }, signal);
  return { kind: "compiled", compiled, output, limits };
}
