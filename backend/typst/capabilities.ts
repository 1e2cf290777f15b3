/**
 * What this backend has installed, for `GET /capabilities.json`. It is determined once, at start, because neither fonts
 * nor packages may change while the backend runs.
 */
import { createHash } from "node:crypto";
import { capabilitiesOf, MAX_CAPABILITIES_BYTES } from "../../protocol/capabilities.ts";
import { formatPackageSpec, type PackageSpec } from "../../rules/package-spec.ts";
import { SettingError } from "../../rules/settings.ts";
import type { Sandbox } from "../sandbox/sandbox.ts";
import type { BackendSettings } from "../settings.ts";
import { listFonts } from "./font-list.ts";
import type { TypstSupervisor } from "./supervisor.ts";
import { installedPackages, PACKAGES_LOCK_NAME, PackageFolderError, readPackagesLock } from "./vendored-packages.ts";

export interface CapabilitiesAnswer {
  readonly body: Buffer;
  readonly digest: string;
}

interface CapabilitySources {
  readonly settings: BackendSettings;
  readonly typstVersion: string;
  readonly sandbox: Sandbox;
  readonly supervisor: TypstSupervisor;
}

export class InstalledCapabilities {
  readonly #sources: CapabilitySources;
  #answer: Promise<CapabilitiesAnswer> | null = null;
  #digest: string | null = null;

  constructor(sources: CapabilitySources) {
    this.#sources = sources;
  }

  get digest(): string | null {
    return this.#digest;
  }

  /** A failure is not kept: the next call tries again. @throws SettingError if a folder of a setting cannot be used. */
  answer(): Promise<CapabilitiesAnswer> {
    this.#answer ??= this.#find().catch((error: unknown) => {
      this.#answer = null;
      throw error;
    });
    return this.#answer;
  }

  async #find(): Promise<CapabilitiesAnswer> {
    const { settings, typstVersion, sandbox, supervisor } = this.#sources;
    const packages = settings.packagePath === null ? [] : await vendoredPackages(settings.packagePath);
    const fonts = await listFonts(settings, sandbox, supervisor);
    const body = Buffer.from(JSON.stringify(capabilitiesOf(typstVersion, fonts, packages)));
    if (body.length > MAX_CAPABILITIES_BYTES) {
      throw new SettingError("SERVICE_FONT_PATHS names folders with more fonts than can be published. Remove some.");
    }
    this.#digest = createHash("sha256").update(body).digest("hex").slice(0, 32);
    return { body, digest: this.#digest };
  }
}

/**
 * The packages of a folder, which must include all that its lock file lists. Their contents are not compared, because
 * that would delay the start: `npm run packages -- verify` does it.
 */
async function vendoredPackages(folder: string): Promise<PackageSpec[]> {
  try {
    const installed = await installedPackages(folder);
    const names = new Set(installed.map(formatPackageSpec));
    const missing = Object.keys((await readPackagesLock(folder))?.packages ?? {}).filter((name) => !names.has(name));
    if (missing.length === 0) return installed;
    throw new SettingError(
      `SERVICE_PACKAGE_PATH lacks ${missing.slice(0, 5).join(", ")}, which ${PACKAGES_LOCK_NAME} lists: run \`npm run packages -- install\`.`,
    );
  } catch (error) {
    throw error instanceof PackageFolderError ? new SettingError(`SERVICE_PACKAGE_PATH: ${error.message}`) : error;
  }
}
