/** Which Typst the service runs on, and its official releases. Runs before there are packages, on Node 14. */
import { versionProblem } from "./programs.mjs";

/**
 * The only version that will do: the rules were measured on it, and 0.14 and older take at most one PDF standard, so
 * that PDF/A together with ua-1 needs 0.15.
 */
export const TYPST_VERSION = "0.15.1";

const RELEASE_FOLDER_URL = `https://github.com/typst/typst/releases/download/v${TYPST_VERSION}`;

/**
 * @typedef {object} TypstRelease
 * @property {string} url
 * @property {string} folder the folder inside the archive that holds the binary
 * @property {string} sha256 of the archive, in lower-case hexadecimal
 */

/**
 * The official releases, by Node's `platform-arch`. The checksums are pinned here because a checksum from the same
 * server as the archive proves nothing.
 *
 * @type {Readonly<Record<string, TypstRelease>>}
 */
export const TYPST_RELEASES = Object.freeze({
  "linux-x64": release(
    "typst-x86_64-unknown-linux-musl",
    "a6d077d0a95eed5a2eba715b2dae06be954f624ccbf85758a03f389ded33118c",
  ),
  "linux-arm64": release(
    "typst-aarch64-unknown-linux-musl",
    "5aa8d74a3d906e60ea12a66ac2f37f8eef1b14cbad7182a745e393a10c23dcee",
  ),
  "darwin-x64": release(
    "typst-x86_64-apple-darwin",
    "7f9fdd9584866245de9a79e0add8f9236fae6f40a8a45e2c4771ccc14db4e0fa",
  ),
  "darwin-arm64": release(
    "typst-aarch64-apple-darwin",
    "48f62ed034aa3a7978309579ac6ca00045e2ef0da73114e8af27cfd8e74dc05a",
  ),
});

/** @param {string} folder @param {string} sha256 @returns {TypstRelease} */
function release(folder, sha256) {
  return Object.freeze({ url: `${RELEASE_FOLDER_URL}/${folder}.tar.xz`, folder, sha256 });
}

/**
 * Says why a file is not the right Typst.
 * @param {string} file
 * @param {import("./programs.mjs").Environment} env of the program
 * @returns {Promise<string | undefined>} undefined when it is
 */
export function typstProblem(file, env = process.env) {
  return versionProblem(file, `typst ${TYPST_VERSION}`, env);
}

/**
 * Says why a file is not a Typst of any version.
 * @param {string} file
 * @returns {Promise<string | undefined>} undefined when it is
 */
export function anyTypstProblem(file) {
  return versionProblem(file, "typst", process.env);
}
