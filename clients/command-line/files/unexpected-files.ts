/**
 * Files that nobody expects to be sent because a text has their names: what is hidden or ignored, and keys and passwords.
 * Each is sent only where the caller names it, or a call that reads files.
 */
import { join, posix } from "node:path";
import { isFont } from "../../../typst/fonts/font-names.ts";
import { isPictureOrSource } from "../../template/file-kinds.ts";
import { realPath } from "./disk.ts";
import { isBelow, keyBelow } from "./folder.ts";
import type { IgnoreRules } from "./ignore-rules.ts";

const SECRET =
  /^(?:id_(?:rsa|dsa|ecdsa|ed25519)\b.*|.*\.(?:pem|key|p12|pfx|p8|jks|keystore|kdbx?|ppk|gpg|asc|ovpn|env)|(?:secrets?|credentials|passwords?)(?:\.\w+)?|\.(?:env|netrc|npmrc|pypirc|pgpass|htpasswd)\b.*)$/i;
const HIDDEN = /(?:^|\/)\./;

export function isSecret(key: string): boolean {
  return SECRET.test(posix.basename(key));
}

/** Whether a file may be sent although no call that reads files has its name. */
export function isExpected(key: string, ignored: IgnoreRules | null): boolean {
  if (isSecret(key)) return false;
  return isPictureOrSource(key) || isFont(key) || isVisible(key, ignored);
}

/** Neither hidden nor ignored. */
export function isVisible(key: string, ignored: IgnoreRules | null): boolean {
  return !HIDDEN.test(key) && (ignored === null || ignored.keep([key]).length > 0);
}

/** The key of the file that a link in the root leads to; the same key if it is none, or leads out. */
export function keyWithoutLinks(root: string, key: string): string {
  const [from, to] = [realPath(root), realPath(join(root, key))];
  return from === null || to === null || to === from || !isBelow(from, to) ? key : keyBelow(from, to);
}

export interface SendingRules {
  readonly root: string;
  /** That of the source. */
  readonly folder: string;
  /** Null if the root has none, as a package. */
  readonly ignored: IgnoreRules | null;
  /** Whether nobody has named the root: above the folder, only what is neither hidden nor ignored is sent. */
  readonly isFound: boolean;
}

/** Why a file is not sent that a source names; null if it is. @param isRead whether a call that reads files has its name */
export function whyNotSent(key: string, isRead: boolean, rules: SendingRules): string | null {
  const { root, folder, ignored, isFound } = rules;
  const real = keyWithoutLinks(root, key);
  for (const one of new Set([key, real])) {
    const isAbove = isFound && !isBelow(folder, join(root, one));
    if (isAbove && !isVisible(one, ignored)) return "is hidden or ignored, and above the folder of the source";
  }
  if (!isRead && !isExpected(key, ignored)) return UNEXPECTED;
  return real === key || isExpected(real, ignored) ? null : `is a link to ${real}, which ${UNEXPECTED}`;
}

const UNEXPECTED = "is hidden, ignored, or may be secret";
