/**
 * The keys of `files` that have been read, to find duplicates: a set behind a Bloom filter with one hash function.
 *
 * A body may hold millions of keys, and the filter answers for nearly all of them that they are new. Making it takes
 * longer than validating a small request, so the first keys do without.
 */

/** A power of two, far above the number of keys that a request may have. */
const FINGERPRINT_COUNT = 8192;
const LOOKUPS_WITHOUT_FILTER = 32;

export class SeenKeys {
  readonly #keys = new Set<string>();
  /** 1 for the fingerprint of each key. Without it, the set took nine tenths of the time for a million keys. */
  #fingerprints: Uint8Array | null = null;
  #lookups = 0;

  get size(): number {
    return this.#keys.size;
  }

  add(key: string): void {
    this.#keys.add(key);
    if (this.#fingerprints !== null) this.#fingerprints[fingerprint(key)] = 1;
  }

  has(key: string): boolean {
    if (++this.#lookups === LOOKUPS_WITHOUT_FILTER) this.#fingerprints = fingerprintsOf(this.#keys);
    return this.#fingerprints?.[fingerprint(key)] !== 0 && this.#keys.has(key);
  }
}

function fingerprintsOf(keys: Iterable<string>): Uint8Array {
  const fingerprints = new Uint8Array(FINGERPRINT_COUNT);
  for (const key of keys) fingerprints[fingerprint(key)] = 1;
  return fingerprints;
}

/** FNV-1a, reduced to the size of the filter. Keys made to collide cost no more than a look-up in the set. */
function fingerprint(key: string): number {
  let hash = 0x811c9dc5;
  for (let at = 0; at < key.length; at++) hash = Math.imul(hash ^ key.charCodeAt(at), 0x01000193);
  return (hash ^ (hash >>> 16)) & (FINGERPRINT_COUNT - 1);
}
