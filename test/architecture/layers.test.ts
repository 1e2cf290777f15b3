/** The rules of `npm run check:layers`: a folder that is renamed or moved would leave its rule without a file. */
import { readdirSync } from "node:fs";
import { expect, it } from "vitest";
import configuration from "../../.dependency-cruiser.mjs";

const PROJECT = new URL("../../", import.meta.url);
const FILES = "rules protocol typst clients edge backend scripts"
  .split(" ")
  .flatMap((folder) =>
    readdirSync(new URL(folder, PROJECT), { recursive: true, encoding: "utf8" }).map((name) => `${folder}/${name}`),
  );

const rules = configuration.forbidden as readonly { name: string; from: { path?: string } }[];

it.each(rules.flatMap(({ name, from }) => (from.path === undefined ? [] : [[name, from.path] as const])))(
  "the layer rule %s is about files of the project: %s",
  (_name, path) => {
    expect(FILES.filter((file) => new RegExp(path).test(file))).not.toEqual([]);
  },
);
