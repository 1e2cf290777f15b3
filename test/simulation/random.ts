/** Random numbers from a seed, the same on every machine: the generator sfc32. */

/** Numbers dropped after seeding, until all of the state depends on the seed. */
const WARM_UP = 12;

export class Random {
  #a: number;
  #b: number;
  #c: number;
  #counter = 1;

  /** @param stream numbers of different streams of one seed are independent of each other */
  constructor(seed: number, stream = 0) {
    this.#a = seed >>> 0;
    this.#b = Math.floor(seed / 2 ** 32) >>> 0;
    this.#c = stream >>> 0;
    for (let count = 0; count < WARM_UP; count++) this.next();
  }

  /** From 0 to below 1. */
  readonly next = (): number => {
    const sum = (this.#a + this.#b + this.#counter++) | 0;
    this.#a = this.#b ^ (this.#b >>> 9);
    this.#b = (this.#c + (this.#c << 3)) | 0;
    this.#c = ((this.#c << 21) | (this.#c >>> 11)) + sum;
    return (sum >>> 0) / 2 ** 32;
  };

  /** A whole number, both ends included. */
  integer(min: number, max: number): number {
    return min + Math.floor(this.next() * (max - min + 1));
  }

  /** A number of which each order of magnitude is as likely as any other. */
  logarithmic(min: number, max: number): number {
    return min * (max / min) ** this.next();
  }

  chance(probability: number): boolean {
    return this.next() < probability;
  }

  pick<Member>(members: readonly [Member, ...Member[]]): Member {
    return members[Math.floor(this.next() * members.length)] ?? members[0];
  }
}
