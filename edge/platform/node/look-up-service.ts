/** Asks DNS for the backends of a service: its SRV records, and the addresses of what they name. */
import { Resolver } from "node:dns/promises";
import { readFile } from "node:fs/promises";
import { SettingError } from "../../../rules/settings.ts";
import { MAX_BACKENDS } from "../../backends/backend-address.ts";
import { isDnsName, isHostName, type SrvAnswer, type SrvRecord } from "../../backends/dns-names.ts";

/** Then it is sent once more: a request that waits for the first backend waits three seconds. */
const QUESTION_TIMEOUT_MILLISECONDS = 1000;
const TRIES = 2;
const RESOLV_CONF = "/etc/resolv.conf";

/** @param nameServers instead of the machine's, if there are any @throws SettingError when one is no address */
export function openLookup(nameServers: readonly string[]): (service: string) => Promise<SrvAnswer> {
  openResolver(nameServers);
  return async (service) => {
    try {
      for (const name of fullNamesOf(service, await readFile(RESOLV_CONF, "utf8").catch(() => ""))) {
        const answer = await lookUp(openResolver(nameServers), name);
        if (answer.length > 0) return answer;
      }
      return [];
    } catch (error) {
      return String(error);
    }
  };
}

/** Each time: a machine that comes into another network has other name servers. */
function openResolver(nameServers: readonly string[]): Resolver {
  const resolver = new Resolver({ timeout: QUESTION_TIMEOUT_MILLISECONDS, tries: TRIES });
  if (nameServers.length === 0) return resolver;
  try {
    resolver.setServers(nameServers);
  } catch {
    throw new SettingError(
      "SERVICE_DNS_SERVERS must hold addresses of name servers, each with a port if it is not 53, as in 10.96.0.10 or [fd00::10]:53.",
    );
  }
  return resolver;
}

async function lookUp(resolver: Resolver, name: string): Promise<SrvRecord[]> {
  const found = await resolver.resolveSrv(name).catch((error: NodeJS.ErrnoException) => {
    if (error.code === "ENOTFOUND" || error.code === "ENODATA") return [];
    throw error;
  });
  const named = found.map((record) => ({ host: record.name.toLowerCase(), port: record.port }));
  const usable = named.filter(({ host, port }) => port > 0 && isHostName(host)).slice(0, 2 * MAX_BACKENDS);
  return Promise.all(
    usable.map(async ({ host, port }) => {
      return { host, port, address: await addressOf(resolver, host) };
    }),
  );
}

/** As a URL writes it; null to have it looked up at each connection. */
async function addressOf(resolver: Resolver, host: string): Promise<string | null> {
  const [four] = await resolver.resolve4(host).catch(() => []);
  if (four !== undefined) return four;
  const [six] = await resolver.resolve6(host).catch(() => []);
  return six === undefined ? null : `[${six}]`;
}

/** With the search domains of the machine, which Node leaves out when it asks for SRV records (`resolv.conf(5)`). */
export function fullNamesOf(name: string, resolvConf: string): string[] {
  if (name.endsWith(".")) return [name.slice(0, -1)];
  const [, domains = ""] = [...resolvConf.matchAll(/^(?:search|domain)[ \t]+(.+)$/gm)].at(-1) ?? [];
  const [, dots = "1"] = [...resolvConf.matchAll(/^options\b.*\bndots:([0-9]{1,2})\b/gm)].at(-1) ?? [];
  const inDomains = domains
    .trim()
    .split(/\s+/)
    .map((domain) => `${name}.${domain}`)
    .filter(isDnsName);
  return name.split(".").length - 1 >= Number(dots) ? [name, ...inDomains] : [...inDomains, name];
}
