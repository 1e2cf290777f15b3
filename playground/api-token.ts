/**
 * The API token of the tab, kept only in its session storage, so that it is gone when the tab is closed.
 */
import { readStored, writeStored } from "./browser-storage.ts";
import { byId } from "./elements.ts";

const STORAGE_KEY = "api-token";

/** `npm start` prints a link with the token in the fragment, which browsers never send. */
const FRAGMENT = /^#token=(.+)$/;

export type TokenState = "not set" | "set" | "rejected";

/**
 * Connects the token dialog.
 *
 * @param onChange called when the token has changed
 */
export function connectToken(onChange: () => void) {
  const dialog = byId("token-dialog", HTMLDialogElement);
  const input = byId("token-input", HTMLInputElement);
  const open = () => {
    input.value = readToken();
    dialog.showModal();
    input.select();
  };
  byId("token-button", HTMLButtonElement).addEventListener("click", open);
  byId("token-cancel", HTMLButtonElement).addEventListener("click", () => dialog.close());
  byId("token-forget", HTMLButtonElement).addEventListener("click", () => {
    input.value = "";
    save("");
  });
  byId("token-form", HTMLFormElement).addEventListener("submit", (event) => {
    event.preventDefault();
    save(input.value.trim());
  });
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
  adoptFragment();
  addEventListener("hashchange", () => {
    if (!adoptFragment()) return;
    show();
    onChange();
  });
  show();
  return { open, show };
}

/** The token, or an empty string. */
export function readToken(): string {
  return readStored("session", STORAGE_KEY) ?? "";
}

/** Moves a token from the fragment of the URL into the session storage, so that it is not copied with the URL. */
function adoptFragment(): boolean {
  const [, token] = FRAGMENT.exec(location.hash) ?? [];
  if (token === undefined) return false;
  writeStored("session", STORAGE_KEY, safelyDecoded(token));
  history.replaceState(null, "", location.pathname + location.search);
  return true;
}

function safelyDecoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
