/** `compose.yaml` as its engine reads it: with its anchors resolved and the variables of `.env` in their places. */
import { readFile } from "node:fs/promises";
import { array, boolean, type InferOutput, number, object, optional, parse, record, string } from "valibot";
import { parse as parseYaml } from "yaml";

const SERVICE = object({
  build: object({ context: string(), target: string() }),
  environment: record(string(), string()),
  networks: array(string()),
  ports: optional(array(string()), []),
  tmpfs: optional(array(string()), []),
  mem_limit: string(),
  pids_limit: number(),
  stop_grace_period: string(),
  read_only: boolean(),
  cap_drop: array(string()),
  security_opt: array(string()),
  restart: string(),
});

export type ComposeService = InferOutput<typeof SERVICE>;

/** The file as data, for its schema. */
export async function readComposeFile(variables: Readonly<Record<string, string>>): Promise<unknown> {
  const text = await readFile(new URL("../../../compose.yaml", import.meta.url), "utf8");
  const withVariables = text.replaceAll(
    /\$\{(\w+):([?-])([^}]*)\}/g,
    (_whole, name: string, kind: string, rest: string) => {
      const value = variables[name] ?? (kind === "-" ? rest : undefined);
      if (value === undefined) throw new Error(`${name} ${rest}`);
      return value;
    },
  );
  return parseYaml(withVariables, { merge: true });
}

/** Its services by their names. */
export async function readComposeServices(
  variables: Readonly<Record<string, string>>,
): Promise<Record<string, ComposeService>> {
  return parse(object({ services: record(string(), SERVICE) }), await readComposeFile(variables)).services;
}
