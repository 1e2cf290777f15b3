/**
 * The records of a ZIP around the bytes of its entries (APPNOTE.TXT, section 4.3). Sizes and numbers of pages are far below
 * those that need ZIP64.
 */

/** APPNOTE.TXT, section 4.4.5. */
export const STORED = 0;
export const DEFLATED = 8;
export type ZipMethod = typeof STORED | typeof DEFLATED;

export interface EntryContent {
  readonly crc: number;
  readonly bytes: number;
  readonly packedBytes: number;
}

export interface ZipEntry extends EntryContent {
  readonly name: string;
  readonly method: ZipMethod;
  /** Where the local header begins, counted from the beginning of the archive. */
  readonly offset: number;
}

/** Zeros for the local header of an entry that is compressed as it is written: its data descriptor has the numbers. */
export const NOT_YET_KNOWN: EntryContent = { crc: 0, bytes: 0, packedBytes: 0 };

const LOCAL_HEADER = 0x04034b50;
const DATA_DESCRIPTOR = 0x08074b50;
const CENTRAL_HEADER = 0x02014b50;
const END_OF_DIRECTORY = 0x06054b50;

/** 2.0, which has DEFLATE. */
const VERSION = 20;
const HAS_DESCRIPTOR = 1 << 3;
/** 1980-01-01 00:00, the first of ZIP. With a fixed time, equal pages make equal archives. */
const MODIFIED = [0, (1 << 5) | 1] as const;

export function localHeader(name: string, method: ZipMethod, content: EntryContent): Buffer {
  return Buffer.concat([littleEndian(4, LOCAL_HEADER), sharedFields(name, method, content), Buffer.from(name)]);
}

/** Follows the bytes of a compressed entry. Some programs read it only there, so entries that are stored have none. */
export function dataDescriptor({ crc, bytes, packedBytes }: EntryContent): Buffer {
  return littleEndian(4, DATA_DESCRIPTOR, crc, packedBytes, bytes);
}

/** The end of an archive: the central directory, and the record that says where it begins. */
export function centralDirectory(entries: readonly ZipEntry[], offset: number): Buffer {
  const headers = entries.map((entry) =>
    Buffer.concat([
      littleEndian(4, CENTRAL_HEADER),
      littleEndian(2, VERSION),
      sharedFields(entry.name, entry.method, entry),
      // No comment, on the first disk, without attributes.
      littleEndian(2, 0, 0, 0),
      littleEndian(4, 0, entry.offset),
      Buffer.from(entry.name),
    ]),
  );
  const bytes = headers.reduce((sum, { length }) => sum + length, 0);
  const end = [littleEndian(4, END_OF_DIRECTORY), littleEndian(2, 0, 0, entries.length, entries.length)];
  return Buffer.concat([...headers, ...end, littleEndian(4, bytes, offset), littleEndian(2, 0)]);
}

/** The fields that an entry's local header and its central header share. */
function sharedFields(name: string, method: ZipMethod, { crc, bytes, packedBytes }: EntryContent): Buffer {
  return Buffer.concat([
    littleEndian(2, VERSION, method === DEFLATED ? HAS_DESCRIPTOR : 0, method, ...MODIFIED),
    littleEndian(4, crc, packedBytes, bytes),
    // No extra field.
    littleEndian(2, Buffer.byteLength(name), 0),
  ]);
}

function littleEndian(bytesOfEach: 2 | 4, ...values: readonly number[]): Buffer {
  const buffer = Buffer.alloc(bytesOfEach * values.length);
  for (const [index, value] of values.entries()) buffer.writeUIntLE(value, bytesOfEach * index, bytesOfEach);
  return buffer;
}
