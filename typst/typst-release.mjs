/** Which Typst the service runs on, and its official releases. Runs before there are packages, on Node 14. */
import { versionProblem } from "./programs.mjs";

/** The only version that will do: the rules were measured on it, and older ones take at most one PDF standard. */
export const TYPST_VERSION = "0.15.1";

const RELEASE_FOLDER_URL = `https://github.com/typst/typst/releases/download/v${TYPST_VERSION}`;

/** @typedef {{ url: string, folder: string, sha256: string }} TypstRelease with the folder in the archive */

/**
 * By Node's `platform-arch`. Pinned, because a checksum from the same server as the archive proves nothing.
 * @type {Readonly<Record<string, TypstRelease>>}
 */
export const TYPST_RELEASES = Object.freeze({
  "linux-x64": defineRelease(
    "typst-x86_64-unknown-linux-musl",
    "a6d077d0a95eed5a2eba715b2dae06be954f624ccbf85758a03f389ded33118c",
  ),
  "linux-arm64": defineRelease(
    "typst-aarch64-unknown-linux-musl",
    "5aa8d74a3d906e60ea12a66ac2f37f8eef1b14cbad7182a745e393a10c23dcee",
  ),
  "darwin-x64": defineRelease(
    "typst-x86_64-apple-darwin",
    "7f9fdd9584866245de9a79e0add8f9236fae6f40a8a45e2c4771ccc14db4e0fa",
  ),
  "darwin-arm64": defineRelease(
    "typst-aarch64-apple-darwin",
    "48f62ed034aa3a7978309579ac6ca00045e2ef0da73114e8af27cfd8e74dc05a",
  ),
});

/** @param {string} folder @param {string} sha256 @returns {TypstRelease} */
function defineRelease(folder, sha256) {
  return Object.freeze({ url: `${RELEASE_FOLDER_URL}/${folder}.tar.xz`, folder, sha256 });
}

/**
 * @param {string} file @param {import("./programs.mjs").Environment} env of the program
 * @returns {Promise<string | undefined>} why it is not the right Typst; undefined when it is
 */
export function typstProblem(file, env = process.env) {
  return versionProblem(file, `typst ${TYPST_VERSION}`, env);
}

/** @param {string} file @returns {Promise<string | undefined>} why it is no Typst at all; undefined when it is */
export function anyTypstProblem(file) {
  return versionProblem(file, "typst", process.env);
}
