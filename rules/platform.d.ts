// The globals beyond ECMAScript that the rules may use: every platform has them (WHATWG Encoding and URL). They are
// declared by hand, so that using any other global of a browser, Node or workerd is a type error.

declare class TextEncoder {
  encode(input: string): Uint8Array<ArrayBuffer>;
  encodeInto(input: string, target: Uint8Array): { readonly read: number };
}

declare class TextDecoder {
  constructor(encoding: string, options?: { readonly fatal: boolean; readonly ignoreBOM: boolean });
  decode(input: Uint8Array): string;
}

declare class URL {
  static canParse(url: string): boolean;
  constructor(url: string);
  readonly origin: string;
  readonly pathname: string;
}

declare class URLSearchParams {
  constructor(init: string | readonly (readonly [string, string])[]);
  [Symbol.iterator](): IterableIterator<[string, string]>;
  toString(): string;
}
