/** The values of SERVICE_SANDBOX. Runs before there are packages, on Node 14. */

/** What `auto` tries, in this order. It never turns the sandbox off. */
export const AUTOMATIC_MODES = /** @type {const} */ (["bubblewrap", "landlock"]);

const SANDBOX_CHOICES = /** @type {const} */ ([...AUTOMATIC_MODES, "auto", "none"]);

/** @typedef {(typeof SANDBOX_CHOICES)[number]} SandboxChoice */
/** @typedef {Exclude<SandboxChoice, "auto">} SandboxMode */

export const SANDBOX_ADVICE = `SERVICE_SANDBOX must be one of ${SANDBOX_CHOICES.join(", ")}.`;

/**
 * Only the explicit value `none` turns the sandbox off. A missing setting must never do so.
 * @param {string | undefined} setting
 * @returns {SandboxChoice | undefined} undefined if the setting names none
 */
export function parseSandboxChoice(setting) {
  return SANDBOX_CHOICES.find((choice) => choice === (setting || "bubblewrap"));
}
