/** The proxies of the environment, for Node's `fetch`: https://nodejs.org/api/http.html#built-in-proxy-support */
import { CommandError } from "./exit-codes.ts";

export interface ProxyServer {
  /** Without user name and password. */
  readonly url: string;
  readonly variable: string;
  readonly isUsed: boolean;
}

/** Not an import, for which Node would load everything behind its exports: twice as long as the rest of the start. */
const http = process.getBuiltinModule("node:http");

/** @throws CommandError when a variable holds no URL */
export function useProxies(): void {
  if (!hasProxySupport(http)) return;
  try {
    http.setGlobalProxyFromEnv();
  } catch (error) {
    if (!(error instanceof Error && "code" in error && error.code === "ERR_PROXY_INVALID_CONFIG")) throw error;
    throw new CommandError("HTTP_PROXY or HTTPS_PROXY is not the URL of a proxy, such as http://proxy.example:3128.");
  }
}

/** Reads `NO_PROXY` as Node does, without ranges of addresses. */
export function proxyOf(address: string): ProxyServer | null {
  const url = new URL(address);
  const names = url.protocol === "https:" ? ["https_proxy", "HTTPS_PROXY"] : ["http_proxy", "HTTP_PROXY"];
  const variable = names.find((name) => process.env[name]);
  const value = variable === undefined ? "" : (process.env[variable] ?? "");
  if (variable === undefined || !URL.canParse(value) || isExcepted(url)) return null;
  const isUsed = hasProxySupport(http) || process.env.NODE_USE_ENV_PROXY === "1";
  return { url: new URL(value).origin, variable, isUsed };
}

function isExcepted({ hostname, port, protocol }: URL): boolean {
  const list = (process.env.no_proxy || process.env.NO_PROXY || "").toLowerCase();
  const hostPort = `${hostname}:${port || (protocol === "https:" ? 443 : 80)}`;
  return list.split(/[\s,]+/).some((entry) => {
    if (entry === "*" || entry === hostname || entry === hostPort) return true;
    const domain = entry.replace(/^\*?\./, "");
    return domain !== "" && hostname.endsWith(`.${domain}`);
  });
}

interface ProxySupport {
  setGlobalProxyFromEnv(): unknown;
}

/** Node has it since 24.14 and 25.4. With an older one, the user sets `NODE_USE_ENV_PROXY` instead. */
function hasProxySupport(module: object): module is ProxySupport {
  return "setGlobalProxyFromEnv" in module;
}
