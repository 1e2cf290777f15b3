/**
 * Only one tab works on a draft at a time: it holds a lock of the browser, which ends with the tab. Pages that are
 * loaded over plain HTTP from another host have no locks: there, a tab keeps only its own draft, over a reload, and
 * opens any other as a copy.
 */

/** A tab that is reloaded may still hold the lock for a moment. */
const RELOAD_PATIENCE_MILLISECONDS = 1000;

/** Takes a draft for as long as this tab lives. False if another tab has it. */
export async function takeDraft(id: string, { isReload }: { readonly isReload: boolean }): Promise<boolean> {
  // Insecure contexts have no locks, although the types say otherwise.
  const locks: LockManager | undefined = navigator.locks;
  if (locks === undefined) return isReload;
  if (taken.has(id)) return true;
  const options: LockOptions = isReload
    ? { signal: AbortSignal.timeout(RELOAD_PATIENCE_MILLISECONDS) }
    : { ifAvailable: true };
  return new Promise((resolve) => {
    const hold = (lock: Lock | null) => {
      resolve(lock !== null);
      if (lock === null) return;
      taken.add(id);
      return new Promise<never>(() => {});
    };
    locks.request(LOCK_PREFIX + id, options, hold).catch(() => resolve(false));
  });
}

/** The ids of the drafts that other tabs have taken; empty if the browser has no locks. */
export async function draftsOfOtherTabs(): Promise<ReadonlySet<string>> {
  const locks: LockManager | undefined = navigator.locks;
  const { held = [] } = (await locks?.query()) ?? {};
  const ids = held.flatMap(({ name }) => (name?.startsWith(LOCK_PREFIX) ? [name.slice(LOCK_PREFIX.length)] : []));
  return new Set(ids.filter((id) => !taken.has(id)));
}

const LOCK_PREFIX = "draft:";
const taken = new Set<string>();
