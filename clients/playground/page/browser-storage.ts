/** Small texts that the browser keeps for the page. If it keeps nothing, they last as long as the page. */

/** `session`: until the tab is closed. `local`: for later tabs too. */
export type StorageKind = "session" | "local";

const memory = new Map<string, string>();

export function readStored(kind: StorageKind, key: string): string | null {
  try {
    return window[`${kind}Storage`].getItem(key);
  } catch {
    return memory.get(`${kind}:${key}`) ?? null;
  }
}

export function writeStored(kind: StorageKind, key: string, text: string | null): void {
  try {
    if (text === null) window[`${kind}Storage`].removeItem(key);
    else window[`${kind}Storage`].setItem(key, text);
  } catch {
    if (text === null) memory.delete(`${kind}:${key}`);
    else memory.set(`${kind}:${key}`, text);
  }
}
