// The globals beyond ECMAScript that the rules use, because every platform has them (WHATWG Encoding and URL). Declared
// here by hand, so that nothing of a browser, of Node or of workerd can slip in unnoticed.

declare class TextEncoder {
  encode(input: string): Uint8Array<ArrayBuffer>;
}

declare class URL {
  static canParse(url: string): boolean;
  constructor(url: string);
  readonly origin: string;
  readonly pathname: string;
}
