/**
 * The static files, as `npm run build:edge` has stored them: text in its compressed forms alone, and in an index what is said of each.
 * They are answered as Cloudflare does with `html_handling` and `not_found_handling` set to `none`.
 */
import { createReadStream } from "node:fs";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { createGunzip } from "node:zlib";
import { namesEntityTag } from "../../../protocol/headers.ts";
import type { Answer, ClientRequest } from "../platform.ts";
import { ReadableBody } from "./readable-body.ts";

export const STATIC_INDEX = "static.json";

export interface StaticForm {
  /** Below the folder of the index. */
  readonly file: string;
  readonly bytes: number;
}

export interface StaticFile {
  readonly contentType: string;
  /** A strong validator without its quotes. It depends on the content alone, so all edges of one build agree on it. */
  readonly entityTag: string;
  readonly bytes: number;
  /** By their codings, the smallest first. Where there is no `identity`, there is `gzip`. */
  readonly forms: Readonly<Partial<Record<"br" | "gzip" | "identity", StaticForm>>>;
}

export class StaticFiles {
  readonly #folder: string;
  readonly #index: ReadonlyMap<string, StaticFile>;

  constructor(folder: string, index: ReadonlyMap<string, StaticFile>) {
    this.#folder = folder;
    this.#index = index;
  }

  static async read(folder: string): Promise<StaticFiles> {
    const index: Record<string, StaticFile> = JSON.parse(await readFile(join(folder, STATIC_INDEX), "utf8"));
    return new StaticFiles(folder, new Map(Object.entries(index)));
  }

  answer(path: string, { headers: asked }: ClientRequest): Answer {
    const file = this.#index.get(path);
    if (file === undefined) return { status: 404, headers: {}, body: null };
    const { forms, contentType, entityTag } = file;
    const codings = (["br", "gzip"] as const).filter((coding) => forms[coding] !== undefined);
    const accepted = parseAcceptedCodings(asked.get("Accept-Encoding"));
    const coding = codings.find((each) => accepted.has(each)) ?? null;
    const headers = {
      "Cache-Control": "public, max-age=0, must-revalidate",
      "Content-Type": contentType,
      ETag: formatEntityTag(entityTag, coding),
      ...(codings.length > 0 && { Vary: "Accept-Encoding" }),
    };
    const tags = [null, ...codings].map((each) => formatEntityTag(entityTag, each));
    if (namesEntityTag(asked.get("If-None-Match"), ...tags)) return { status: 304, headers, body: null };
    const form = forms[coding ?? "identity"];
    const own = {
      ...(coding !== null && { "Content-Encoding": coding }),
      "Content-Length": String(form?.bytes ?? file.bytes),
    };
    return {
      status: 200,
      headers: { ...headers, ...own },
      body: new ReadableBody(
        () => this.#open(file, form),
        () => {},
      ),
    };
  }

  #open({ forms }: StaticFile, form: StaticForm | undefined) {
    const stored = createReadStream(join(this.#folder, form?.file ?? forms.gzip?.file ?? ""));
    if (form !== undefined) return stored;
    const plain = createGunzip();
    stored.on("error", (error) => plain.destroy(error));
    plain.on("close", () => stored.destroy());
    return stored.pipe(plain);
  }
}

function formatEntityTag(entityTag: string, coding: string | null): string {
  return coding === null ? `"${entityTag}"` : `"${entityTag}-${coding}"`;
}

function parseAcceptedCodings(field: string | null): ReadonlySet<string> {
  const parts = (field ?? "").toLowerCase().split(",");
  return new Set(
    parts.filter((part) => !/;\s*q=0(?:\.0*)?\s*$/.test(part)).map((part) => part.replace(/;.*/, "").trim()),
  );
}
