/**
 * The values of SERVICE_SANDBOX, for the backend and the set-up alike.
 *
 * Plain JavaScript, without imports, because the set-up loads it before node_modules exists and on any Node from 14 on.
 */

export const SANDBOX_MODES = /** @type {const} */ (["bubblewrap", "landlock", "none"]);

/** @typedef {(typeof SANDBOX_MODES)[number]} SandboxMode */

export const SANDBOX_MODE_ADVICE = `SERVICE_SANDBOX must be one of ${SANDBOX_MODES.join(", ")}.`;

/**
 * Only the explicit value `none` turns the sandbox off. A missing setting must never do so.
 *
 * @param {string | undefined} setting
 * @returns {SandboxMode | undefined} undefined if the setting names none
 */
export function parseSandboxMode(setting) {
  return SANDBOX_MODES.find((mode) => mode === (setting || "bubblewrap"));
}
