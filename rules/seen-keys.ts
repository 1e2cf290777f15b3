/**
 * A set of keys that is asked for millions of others: most are told by a few characters that they are not in it.
 */

/** A power of two, far above the number of keys that a request may hold. */
const FINGERPRINTS = 8192;

export class SeenKeys {
  readonly #keys = new Set<string>();
  /** 1 for the fingerprint of each key. Asking the set took nine tenths of the work on a body of a million keys. */
  readonly #fingerprints = new Uint8Array(FINGERPRINTS);

  get size(): number {
    return this.#keys.size;
  }

  add(key: string): void {
    this.#keys.add(key);
    this.#fingerprints[fingerprint(key)] = 1;
  }

  has(key: string): boolean {
    return this.#fingerprints[fingerprint(key)] === 1 && this.#keys.has(key);
  }
}

/** FNV-1a, cut to size. Whoever makes keys of equal fingerprints gains nothing but the work of asking the set. */
function fingerprint(key: string): number {
  let hash = 0x811c9dc5;
  for (let at = 0; at < key.length; at++) hash = Math.imul(hash ^ key.charCodeAt(at), 0x01000193);
  return (hash ^ (hash >>> 16)) & (FINGERPRINTS - 1);
}
