/** Opens a client of the service that the options name, and turns its failures into those of the command. */
import {
  ServiceClient,
  type ServiceClientOptions,
  type ServiceProblem,
  ServiceUnreachableError,
  type SilenceEvent,
  UnexpectedResponseError,
} from "../typescript/client.ts";
import { DEFAULT_SILENCE_TIMEOUT_SECONDS } from "../typescript/silence.ts";
import { CommandError, EXIT_CODES } from "./exit-codes.ts";
import { proxyOf, useProxy } from "./proxy.ts";
import { constraintsFile } from "./service-cache.ts";
import { LOOPBACK_HOSTS, locateService, type ServiceOptions } from "./service-location.ts";
import { printableLine, say } from "./terminal.ts";
import { whyUnexpected, whyUnreachable } from "./unreachable.ts";
import { VERSION } from "./version.ts";

export interface Service {
  readonly url: string;
  readonly client: ServiceClient;
  /** What a user should know besides the problem itself: where a rejected token came from. */
  detailsOf(problem: ServiceProblem): readonly string[];
}

export interface CallFlags extends ServiceOptions {
  readonly verbose?: true | undefined;
  readonly json?: true | undefined;
  /** Seconds; see `--timeout`. */
  readonly timeout?: number | undefined;
}

/**
 * @param tell writes the line of `--verbose`, and that the service is silent
 * @throws CommandError when no token is known, or the URL, the token or a proxy is invalid
 */
export async function openService(
  options: CallFlags,
  clientOptions: Pick<ServiceClientOptions, "retry"> = {},
  tell: (line: string) => void = say,
): Promise<Service> {
  const { url, token, tokenOrigin } = await locateService(options);
  if (token === "") {
    const local = LOOPBACK_HOSTS.has(new URL(url).hostname)
      ? " `npm start` keeps its own in the file .local/api-token of its checkout."
      : "";
    throw new CommandError(
      `There is no token for ${url}: set SERVICE_API_TOKEN, or pass a file with --token-file.${local}`,
    );
  }
  // A header can hold nothing else. The message must not quote the token.
  if (!/^[!-~]+$/.test(token)) throw new CommandError(`The token of ${tokenOrigin} must be one line of visible ASCII.`);
  useProxy(url);
  if (options.verbose) {
    const proxy = proxyOf(url);
    const way = proxy === null ? "" : `, through the proxy ${proxy.url} (${proxy.variable})`;
    const program = `document-rendering ${VERSION} on Node ${process.versions.node}`;
    tell(`${program}: ${url}${way}, with the token of ${tokenOrigin}`);
  }
  const client = new ServiceClient({
    url,
    token,
    constraintsStore: constraintsFile(url),
    silenceTimeoutSeconds: Math.max(options.timeout ?? 0, DEFAULT_SILENCE_TIMEOUT_SECONDS),
    onSilence: options.json ? undefined : sayOnce(url, tell),
    ...clientOptions,
  });
  const detailsOf = ({ code }: ServiceProblem) => (code === "forbidden" ? [`The token came from ${tokenOrigin}.`] : []);
  return { url, client, detailsOf };
}

/** Of all requests of a command, the first one that waits is said. */
function sayOnce(url: string, tell: (line: string) => void): (event: SilenceEvent) => void {
  let isSaid = false;
  return ({ silentSeconds, timeoutSeconds }) => {
    if (!isSaid) tell(`${url} has sent nothing for ${silentSeconds} s: waiting, up to ${timeoutSeconds} s.`);
    isSaid = true;
  };
}

/**
 * Turns a failure to reach the service into a `CommandError`. Other errors stay unchanged.
 *
 * @param listSizes of the request, one line each, for a server in front of the service with a lower limit than it
 */
export function asCommandError(error: unknown, url: string, listSizes?: () => readonly string[]): unknown {
  if (error instanceof ServiceUnreachableError) {
    return new CommandError(whyUnreachable(error, url), EXIT_CODES.unreachable);
  }
  if (!(error instanceof UnexpectedResponseError)) return error;
  if (error.status !== 413 || listSizes === undefined) {
    return new CommandError(whyUnexpected(error, url), EXIT_CODES.unreachable);
  }
  const sentence = `${url}: a server in front of the service answered 413: the request is too large for it. Send less, or ask the operator to raise its limit.`;
  const lines = [sentence, ...listSizes().map((line) => printableLine(`  ${line}`))];
  return new CommandError(lines.join("\n"), EXIT_CODES.request);
}

export function failAsCommand(url: string): (error: unknown) => never {
  return (error) => {
    throw asCommandError(error, url);
  };
}

export function failureInWords(reason: ServiceProblem | ServiceUnreachableError, url: string): string {
  return reason instanceof ServiceUnreachableError ? whyUnreachable(reason, url) : `${reason.code}: ${reason.detail}`;
}
