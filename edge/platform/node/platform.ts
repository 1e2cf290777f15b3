/** The edge's own program of Node: its settings are the environment, its log goes to standard output and standard error. */

import type { LogOutput } from "../../../protocol/node/log-output.ts";
import type { AccessToken, BackendAddress } from "../../backends/backend-address.ts";
import type { Answer, ClientRequest, LogLevel, Platform } from "../platform.ts";
import { BackendConnections } from "./backend.ts";
import { openLookup } from "./look-up-service.ts";
import type { Capacity } from "./open-files.ts";
import type { StaticFiles } from "./static-files.ts";

export interface EdgeParts {
  readonly capacity: Capacity;
  readonly files: StaticFiles;
  readonly stdout: Pick<LogOutput, "writeLine">;
  readonly stderr: Pick<LogOutput, "writeLine">;
}

export class NodePlatform implements Platform {
  readonly settings: Readonly<Record<string, unknown>>;
  readonly isWholeEdge = true;
  readonly rateLimiter = null;
  readonly maxOpenRenders: number;
  readonly openLookup = openLookup;
  readonly #backends: BackendConnections;
  readonly #parts: EdgeParts;

  constructor(settings: Readonly<Record<string, unknown>>, parts: EdgeParts) {
    this.settings = settings;
    this.#parts = parts;
    this.maxOpenRenders = parts.capacity.waitingRenders;
    this.#backends = new BackendConnections(parts.capacity);
  }

  close(): void {
    this.#backends.close();
  }

  openBackend(address: BackendAddress, accessToken: AccessToken | null) {
    return this.#backends.open(address, accessToken);
  }

  async staticFile(path: string, request: ClientRequest): Promise<Answer> {
    return this.#parts.files.answer(path, request);
  }

  writeLog(level: LogLevel, line: object): void {
    const { stdout, stderr } = this.#parts;
    const output = level === "error" || level === "warn" ? stderr : stdout;
    output.writeLine(`${JSON.stringify(line)}\n`);
  }

  requestObserver(): null {
    return null;
  }
}
