/**
 * The keys of `files` that have been read, to find duplicates: a set behind a Bloom filter with one hash function.
 *
 * A body may hold millions of keys, and the filter answers for nearly all of them that they are new.
 */

/** A power of two, far above the number of keys that a request may have. */
const FINGERPRINT_COUNT = 8192;

export class SeenKeys {
  readonly #keys = new Set<string>();
  /** 1 for the fingerprint of each key. Without it, the set took nine tenths of the time for a body of a million keys. */
  readonly #fingerprints = new Uint8Array(FINGERPRINT_COUNT);

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

/** FNV-1a, reduced to the size of the filter. Keys made to collide cost no more than a look-up in the set. */
function fingerprint(key: string): number {
  let hash = 0x811c9dc5;
  for (let at = 0; at < key.length; at++) hash = Math.imul(hash ^ key.charCodeAt(at), 0x01000193);
  return (hash ^ (hash >>> 16)) & (FINGERPRINT_COUNT - 1);
}
