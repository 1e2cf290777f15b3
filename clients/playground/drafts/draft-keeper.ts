/** Keeps the page's draft in this browser. Each tab has its own: of a draft that is open elsewhere it gets a copy. */
import { readStored, writeStored } from "../page/browser-storage.ts";
import type { Draft } from "./draft.ts";
import type { DraftStore } from "./draft-store.ts";
import { type KeptDraft, KeptDrafts } from "./kept-drafts.ts";

export type KeepState = "nothing to keep" | "saving" | "kept" | "no database" | "no room";

export type ListedDraft = KeptDraft & { readonly openIn: "this tab" | "another tab" | null };

export type Restored = "nothing" | "draft" | "copy";

const STORAGE_KEY = "draft";
const LOCK_PREFIX = "draft:";
const SAVE_DELAY_MILLISECONDS = 250;
/** The page waits for its draft, and a browser may leave a request for a database without an answer. */
const OPEN_TIMEOUT_MILLISECONDS = 3000;
/** A tab that is reloaded may still hold the lock for a moment. */
const RELOAD_PATIENCE_MILLISECONDS = 1000;

/** Pages that come over plain HTTP from another host have no locks, although the types say otherwise. */
const locks: LockManager | undefined = navigator.locks;

export class DraftKeeper {
  readonly #store: DraftStore;
  readonly #onState: (state: KeepState) => void;
  #kept: KeptDrafts | null = null;
  #id = "";
  #unlock = () => {};
  #state: KeepState = "nothing to keep";
  #pending: ReturnType<typeof setTimeout> | undefined;

  constructor(store: DraftStore, onState: (state: KeepState) => void) {
    this.#store = store;
    this.#onState = onState;
  }

  async start(): Promise<Restored> {
    const tooLate = new Promise<null>((resolve) => setTimeout(() => resolve(null), OPEN_TIMEOUT_MILLISECONDS));
    this.#kept = await Promise.race([KeptDrafts.open().catch(() => null), tooLate]);
    if (this.#kept === null) this.#setState("no database");
    const restored = await this.#restore().catch(() => "nothing" as const);
    if (restored === "nothing") await this.#use(newId());
    this.#store.onChange((change) => {
      if (change === "edit") this.#scheduleSave();
    });
    for (const leaving of ["beforeunload", "pagehide", "visibilitychange"]) {
      addEventListener(leaving, () => this.#saveNow());
    }
    addEventListener("beforeunload", (event) => {
      if (this.#isLost && this.#store.isEdited) event.preventDefault();
    });
    return restored;
  }

  /** Shows another draft; the current one stays in the list if it was edited. Returns a function that undoes this. */
  async begin(draft: Draft, { isEdited }: { readonly isEdited: boolean }): Promise<() => Promise<void>> {
    const before = { id: this.#id, draft: this.#store.draft, isEdited: this.#store.isEdited };
    await this.#leave(before.isEdited);
    await this.#use(newId());
    this.#show(draft, isEdited);
    return async () => {
      await this.#leave(this.#store.draft !== draft);
      const unlock = await lockDraft(before.id, { isOwn: false });
      await this.#use(unlock === null ? newId() : before.id, unlock);
      this.#show(before.draft, before.isEdited);
    };
  }

  async list(): Promise<readonly ListedDraft[]> {
    this.#saveNow();
    const kept = (await this.#kept?.list().catch(() => [])) ?? [];
    const { held = [] } = (await locks?.query()) ?? {};
    const open = new Set(held.map(({ name }) => name));
    const otherTab = (id: string) => (open.has(LOCK_PREFIX + id) ? "another tab" : null);
    return kept.map((each) => ({ ...each, openIn: each.id === this.#id ? "this tab" : otherTab(each.id) }));
  }

  /** Shows a kept draft, or a copy if another tab works on it. @param isOwn this tab had it before it was loaded */
  async open(id: string, isOwn = false): Promise<Restored> {
    this.#saveNow();
    const draft = (await this.#kept?.read(id)) ?? null;
    if (draft === null) return "nothing";
    const unlock = isOwn || locks !== undefined ? await lockDraft(id, { isOwn }) : null;
    const isFree = unlock !== null;
    await this.#use(isFree ? id : newId(), unlock);
    this.#store.replace(draft, { isEdited: isFree });
    this.#setState(isFree ? "kept" : "nothing to keep");
    return isFree ? "draft" : "copy";
  }

  /** Deletes a kept draft, unless a tab works on it. */
  async delete(id: string): Promise<void> {
    const unlock = await lockDraft(id, { isOwn: false });
    if (unlock !== null) await this.#kept?.delete(id).catch(() => {});
    unlock?.();
  }

  async #restore(): Promise<Restored> {
    const own = readStored("session", STORAGE_KEY);
    const restored = own === null ? "nothing" : await this.open(own, true);
    if (restored !== "nothing") return restored;
    const [newest] = (await this.#kept?.list()) ?? [];
    return newest === undefined ? "nothing" : this.open(newest.id);
  }

  async #leave(isWorthKeeping: boolean): Promise<void> {
    this.#saveNow();
    if (!isWorthKeeping) await this.#kept?.delete(this.#id).catch(() => {});
  }

  async #use(id: string, unlock: (() => void) | null = null): Promise<void> {
    const previous = this.#unlock;
    this.#unlock = unlock ?? (await lockDraft(id, { isOwn: false })) ?? (() => {});
    this.#id = id;
    writeStored("session", STORAGE_KEY, id);
    previous();
  }

  #show(draft: Draft, isEdited: boolean): void {
    this.#store.replace(draft, { isEdited });
    this.#scheduleSave();
  }

  get #isLost(): boolean {
    return this.#state === "no database" || this.#state === "no room";
  }

  #scheduleSave(): void {
    if (this.#kept === null) return;
    if (!this.#isLost) this.#setState("saving");
    this.#pending ??= setTimeout(() => this.#saveNow(), SAVE_DELAY_MILLISECONDS);
  }

  #saveNow(): void {
    if (this.#pending === undefined) return;
    clearTimeout(this.#pending);
    this.#pending = undefined;
    this.#kept?.save(this.#id, this.#store.draft).then(
      () => {
        if (this.#pending === undefined) this.#setState("kept");
      },
      () => this.#setState("no room"),
    );
  }

  #setState(state: KeepState): void {
    this.#state = state;
    this.#onState(state);
  }
}

/** Takes a draft until the returned function is called or the tab is closed; null if another tab has it. */
function lockDraft(id: string, { isOwn }: { readonly isOwn: boolean }): Promise<(() => void) | null> {
  const held = Promise.withResolvers<void>();
  const answer = Promise.withResolvers<(() => void) | null>();
  if (locks === undefined) return Promise.resolve(held.resolve);
  const options: LockOptions = isOwn
    ? { signal: AbortSignal.timeout(RELOAD_PATIENCE_MILLISECONDS) }
    : { ifAvailable: true };
  const hold = (lock: Lock | null) => {
    answer.resolve(lock === null ? null : held.resolve);
    return lock === null ? null : held.promise;
  };
  locks.request(LOCK_PREFIX + id, options, hold).catch(() => answer.resolve(null));
  return answer.promise;
}

function newId(): string {
  return crypto.getRandomValues(new Uint8Array(12)).toHex();
}
