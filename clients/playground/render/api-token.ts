/** The API token of the tab, only in its session storage: it is gone when the tab is closed. */
import { readStored, writeStored } from "../page/browser-storage.ts";
import { byId } from "../page/elements.ts";

const STORAGE_KEY = "api-token";

export interface ApiToken {
  open(): void;
  show(state?: TokenState): void;
}

export type TokenState = "not set" | "set" | "rejected";

export function connectToken(onChange: () => void): ApiToken {
  const dialog = byId("token-dialog", HTMLDialogElement);
  const input = byId("token-input", HTMLInputElement);
  const offer = byId("token-offer", HTMLElement);
  const open = (offered = "") => {
    offer.hidden = offered === "";
    input.value = offered || readToken();
    if (!dialog.open) dialog.showModal();
    input.select();
  };
  byId("token-button", HTMLButtonElement).addEventListener("click", () => open());
  byId("token-cancel", HTMLButtonElement).addEventListener("click", () => dialog.close());
  byId("token-forget", HTMLButtonElement).addEventListener("click", () => {
    input.value = "";
    save("");
  });
  byId("token-form", HTMLFormElement).addEventListener("submit", () => save(input.value.trim()));
  const save = (token: string) => {
    writeStored("session", STORAGE_KEY, token === "" ? null : token);
    dialog.close();
    show();
    onChange();
  };
  const show = (tokenState: TokenState = readToken() === "" ? "not set" : "set") => {
    const state = byId("token-state", HTMLElement);
    state.textContent = tokenState;
    state.dataset.state = tokenState;
  };
  /** A link may come from anybody: a token that the tab has is replaced only if somebody saves the new one. */
  const takeFragment = (): boolean => {
    const token = tokenOfFragment();
    if (token === "" || token === readToken()) return false;
    const isFirst = readToken() === "";
    if (isFirst) writeStored("session", STORAGE_KEY, token);
    else open(token);
    return isFirst;
  };
  takeFragment();
  addEventListener("hashchange", () => {
    if (!takeFragment()) return;
    show();
    onChange();
  });
  show();
  return { open: () => open(), show };
}

export function readToken(): string {
  return readStored("session", STORAGE_KEY) ?? "";
}

/** Takes a token out of the URL, where a link of `npm start` has it, so that it is not copied with the URL. */
function tokenOfFragment(): string {
  // In a query, `+` would be a space.
  const token = new URLSearchParams(location.hash.slice(1).replaceAll("+", "%2B")).get("token") ?? "";
  if (token !== "") history.replaceState(null, "", location.pathname + location.search);
  return token;
}
