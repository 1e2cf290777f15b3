/**
 * What the handlers of one request share.
 */
import type { Context } from "hono";
import { type EdgeEnvironment, type EdgeSettings, readEdgeSettings } from "./settings.ts";

export interface EdgeBindings {
  Bindings: EdgeEnvironment;
  Variables: { requestId: string };
}

export type EdgeContext = Context<EdgeBindings>;

/** Bindings are one object for the life of an isolate, so settings are read once for each. */
const settingsByEnvironment = new WeakMap<EdgeEnvironment, EdgeSettings>();

/** The settings of the deployment that answers. */
export function settingsOf({ env }: EdgeContext): EdgeSettings {
  const known = settingsByEnvironment.get(env);
  if (known !== undefined) return known;
  const settings = readEdgeSettings(env);
  settingsByEnvironment.set(env, settings);
  return settings;
}
