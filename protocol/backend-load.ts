/**
 * How busy a backend is. It tells the edge in the header field `X-Service-Load`, and the edge sends the next render to
 * the less busy of two backends.
 */

export interface BackendLoad {
  readonly running: number;
  /** Valid requests that wait for a slot. */
  readonly waiting: number;
  readonly slots: number;
  /** Whether the backend is about to stop: it still renders, but the edge should send new requests elsewhere. */
  readonly isDraining: boolean;
}

/** The most slots that a backend may have: one that claims more would get every render. */
export const MAX_SLOTS = 256;

const FORM = /^running=([0-9]{1,9}),waiting=([0-9]{1,9}),slots=([0-9]{1,9})(,draining)?$/;

export function formatBackendLoad({ running, waiting, slots, isDraining }: BackendLoad): string {
  return `running=${running},waiting=${waiting},slots=${slots}${isDraining ? ",draining" : ""}`;
}

/** The load in a value of the header field; null if the field is absent, has another form or claims too many slots. */
export function parseBackendLoad(value: string | null): BackendLoad | null {
  const match = FORM.exec(value ?? "");
  if (match === null) return null;
  const [, running, waiting, slots, draining] = match;
  if (Number(slots) > MAX_SLOTS) return null;
  return {
    running: Number(running),
    waiting: Number(waiting),
    slots: Math.max(1, Number(slots)),
    isDraining: draining !== undefined,
  };
}
