/**
 * Keeps the page's draft in this browser, so that it survives a reload and a closed tab. Each tab has its own draft: a
 * tab that opens a draft on which another tab works gets a copy, so that no tab overwrites the work of another. An
 * example or a project does not overwrite a draft either: it becomes a new one.
 */
import { readStored, writeStored } from "../page/browser-storage.ts";
import type { Draft } from "./draft.ts";
import { draftsOfOtherTabs, takeDraft } from "./draft-lock.ts";
import type { DraftStore } from "./draft-store.ts";
import { type KeptDraft, KeptDrafts, MAX_KEPT_DRAFTS } from "./kept-drafts.ts";
import { leaveUnsaved, takeUnsaved } from "./unsaved-drafts.ts";

export type KeepState =
  | { readonly kind: "nothing to keep" }
  | { readonly kind: "saving" }
  | { readonly kind: "kept" }
  /** `reason` is a sentence. */
  | { readonly kind: "not kept"; readonly reason: string };

/** A kept draft, and the tab that works on it. */
export type ListedDraft = KeptDraft & { readonly openIn: "this tab" | "another tab" | null };

export type Restored = "nothing" | "draft" | "copy";

/** The id of the tab's draft, in its session storage. */
const STORAGE_KEY = "draft";
const SAVE_DELAY_MILLISECONDS = 250;
/** A database that another version of the page blocks never opens. */
const OPEN_TIMEOUT_MILLISECONDS = 3000;

const UNAVAILABLE =
  "This browser keeps no drafts for this page, perhaps because the window is private. Save a ZIP before you close it.";
const NO_ROOM =
  "This browser has no room left for this draft. Delete other drafts, or save a ZIP before you close the page.";

export class DraftKeeper {
  readonly #store: DraftStore;
  readonly #onState: (state: KeepState) => void;
  #kept: KeptDrafts | null = null;
  #id = newId();
  #state: KeepState = { kind: "nothing to keep" };
  #pending: ReturnType<typeof setTimeout> | undefined;
  /** The draft that the database has, or that need not be saved. */
  #savedDraft: Draft;
  /** Saves run one after the other. */
  #lastSave: Promise<void> = Promise.resolve();

  constructor(store: DraftStore, onState: (state: KeepState) => void) {
    this.#store = store;
    this.#savedDraft = store.draft;
    this.#onState = onState;
  }

  /** Puts the kept draft into the store, and keeps the store's draft from then on. */
  async start(): Promise<Restored> {
    this.#kept = await openWithin(OPEN_TIMEOUT_MILLISECONDS);
    const restored = this.#kept === null ? "nothing" : await this.#restore(this.#kept).catch(() => "nothing" as const);
    if (this.#kept === null) this.#setState({ kind: "not kept", reason: UNAVAILABLE });
    this.#store.onChange((change) => {
      if (change === "edit") this.#scheduleSave();
    });
    addEventListener("pagehide", () => {
      // A save that has begun may be cut off.
      if (this.#kept !== null && this.#store.draft !== this.#savedDraft) leaveUnsaved(this.#id, this.#store.draft);
      this.#saveNow();
    });
    document.addEventListener("visibilitychange", () => {
      if (document.visibilityState === "hidden") this.#saveNow();
    });
    addEventListener("beforeunload", (event) => {
      if (this.#state.kind === "not kept" && this.#store.isEdited) event.preventDefault();
    });
    return restored;
  }

  /** Shows another draft; the current one stays in the list if it was edited. Returns a function that undoes this. */
  async begin(draft: Draft, { isEdited }: { readonly isEdited: boolean }): Promise<() => Promise<void>> {
    this.#saveNow();
    const previous = { id: this.#id, draft: this.#store.draft, isEdited: this.#store.isEdited };
    // An unchanged draft is not worth a place in the list.
    if (previous.isEdited) {
      await this.#use(newId());
      await this.#prune().catch(() => {});
    }
    this.#store.replace(draft, { isEdited });
    this.#scheduleSave();
    return async () => {
      this.#saveNow();
      const abandoned = this.#id;
      // The draft that the undo replaces has been edited.
      const isWorthKeeping = this.#store.draft !== draft;
      await this.#use(isWorthKeeping && abandoned === previous.id ? newId() : previous.id);
      this.#store.replace(previous.draft, previous);
      this.#scheduleSave();
      if (!isWorthKeeping && abandoned !== previous.id) await this.delete(abandoned);
    };
  }

  /** The drafts that this browser keeps, including this tab's. */
  async list(): Promise<readonly ListedDraft[]> {
    this.#saveNow();
    await this.#lastSave;
    const kept = (await this.#kept?.list().catch(() => [])) ?? [];
    const others = await draftsOfOtherTabs();
    return kept.map((each) => ({ ...each, openIn: openIn(each.id, this.#id, others) }));
  }

  /** Shows a kept draft, or a copy of it if another tab works on it. */
  async open(id: string): Promise<Restored> {
    const draft = (await this.#kept?.read(id)) ?? null;
    if (draft === null) return "nothing";
    this.#saveNow();
    const isFree = await takeDraft(id, { isReload: false });
    await this.#use(isFree ? id : newId());
    this.#store.replace(draft, { isEdited: isFree });
    this.#savedDraft = draft;
    return isFree ? "draft" : "copy";
  }

  /** Deletes a kept draft, unless another tab works on it. */
  async delete(id: string): Promise<void> {
    await this.#lastSave;
    if ((await draftsOfOtherTabs()).has(id)) return;
    await this.#kept?.delete(id).catch(() => {});
  }

  async #restore(kept: KeptDrafts): Promise<Restored> {
    const ownId = readStored("session", STORAGE_KEY);
    let own: Draft | null = null;
    let hasRoom = true;
    for (const { id, complete } of takeUnsaved()) {
      const draft = complete(await kept.read(id));
      try {
        await kept.save(id, draft);
      } catch {
        leaveUnsaved(id, draft);
        if (id === ownId) own = draft;
        hasRoom = false;
      }
    }
    if (ownId !== null) own ??= await kept.read(ownId);
    const id = own === null ? (await kept.list())[0]?.id : ownId;
    const draft = own ?? (id === undefined || id === null ? null : await kept.read(id));
    if (draft === null || id === undefined || id === null) {
      await this.#use(this.#id);
      return "nothing";
    }
    const isFree = await takeDraft(id, { isReload: own !== null && isReload() });
    await this.#use(isFree ? id : newId());
    this.#store.replace(draft, { isEdited: isFree });
    this.#savedDraft = draft;
    if (!hasRoom) this.#setState({ kind: "not kept", reason: NO_ROOM });
    else if (isFree) this.#setState({ kind: "kept" });
    return isFree ? "draft" : "copy";
  }

  async #use(id: string): Promise<void> {
    this.#id = id;
    writeStored("session", STORAGE_KEY, id);
    await takeDraft(id, { isReload: false });
  }

  #scheduleSave(): void {
    if (this.#kept === null) return;
    if (this.#state.kind !== "not kept") this.#setState({ kind: "saving" });
    this.#pending ??= setTimeout(() => this.#saveNow(), SAVE_DELAY_MILLISECONDS);
  }

  #saveNow(): void {
    if (this.#pending === undefined) return;
    clearTimeout(this.#pending);
    this.#pending = undefined;
    this.#lastSave = this.#save(this.#id, this.#store.draft);
  }

  async #save(id: string, draft: Draft): Promise<void> {
    const kept = this.#kept;
    if (kept === null) return;
    try {
      await kept.save(id, draft);
      if (draft === this.#store.draft) this.#savedDraft = draft;
      if (this.#pending === undefined) this.#setState({ kind: "kept" });
    } catch {
      this.#setState({ kind: "not kept", reason: NO_ROOM });
    }
  }

  async #prune(): Promise<void> {
    const kept = (await this.#kept?.list()) ?? [];
    for (const { id } of kept.slice(MAX_KEPT_DRAFTS - 1)) await this.delete(id);
  }

  #setState(state: KeepState): void {
    this.#state = state;
    this.#onState(state);
  }
}

/** Null if there is no database, or if it does not open in time. */
async function openWithin(milliseconds: number): Promise<KeptDrafts | null> {
  const timeout = new Promise<null>((resolve) => setTimeout(() => resolve(null), milliseconds));
  return Promise.race([KeptDrafts.open().catch(() => null), timeout]);
}

function openIn(id: string, ownId: string, others: ReadonlySet<string>): ListedDraft["openIn"] {
  if (id === ownId) return "this tab";
  return others.has(id) ? "another tab" : null;
}

function isReload(): boolean {
  const [navigation] = performance.getEntriesByType("navigation");
  return navigation instanceof PerformanceNavigationTiming && navigation.type !== "navigate";
}

function newId(): string {
  return crypto.getRandomValues(new Uint8Array(12)).toHex();
}
