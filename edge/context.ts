/**
 * What the handlers of one request share.
 */
import type { Context } from "hono";
import { BodyMemory } from "./body-memory.ts";
import { MetricsScraper } from "./metrics-scraper.ts";
import { type EdgeSettings, readEdgeSettings } from "./settings.ts";

/** What the Worker is bound to: the static documents; variables and secrets, all strings. */
export interface EdgeEnvironment {
  readonly ASSETS: Fetcher;
  readonly [setting: string]: string | Fetcher | undefined;
}

export interface EdgeBindings {
  Bindings: EdgeEnvironment;
  Variables: {
    requestId: string;
    /** The name of the caller's token; set where a route requires one. */
    caller: string;
  };
}

export type EdgeContext = Context<EdgeBindings>;

/** What the requests of one isolate share. */
interface Deployment {
  readonly settings: EdgeSettings;
  readonly bodyMemory: BodyMemory;
  readonly metricsScraper: MetricsScraper;
}

/** Bindings are one object for the life of an isolate, so settings are read once for each. */
const deployments = new WeakMap<EdgeEnvironment, Deployment>();

/**
 * The deployment that answers.
 *
 * @throws SettingError where a setting cannot be used.
 */
export function deploymentOf({ env }: EdgeContext): Deployment {
  const known = deployments.get(env);
  if (known !== undefined) return known;
  const settings = readEdgeSettings(env);
  const deployment = {
    settings,
    bodyMemory: new BodyMemory(settings.limits.max_request_body_bytes),
    metricsScraper: new MetricsScraper(settings.backendUrls),
  };
  deployments.set(env, deployment);
  return deployment;
}

/** The settings of the deployment that answers. */
export function settingsOf(context: EdgeContext): EdgeSettings {
  return deploymentOf(context).settings;
}
