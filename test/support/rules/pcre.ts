/** A real PCRE engine: GNU grep's `-P`. */
import { spawnSync } from "node:child_process";

/**
 * Which of the subjects an expression matches, in one run of grep.
 *
 * With `-z` a record ends with NUL, and line feeds are part of it: `\z` then matches at the end of the record only.
 * A subject must be well-formed and without NUL. `-a` keeps grep from taking a subject for binary data; UTF-8 makes
 * `.` a code point.
 */
export function matchesOfPcre(pattern: string, subjects: readonly string[]): boolean[] {
  const unfit = subjects.find((subject) => subject.includes("\0") || !subject.isWellFormed());
  if (unfit !== undefined) throw new Error(`grep cannot be given ${JSON.stringify(unfit)}`);
  const { status, stdout, stderr } = spawnSync("grep", ["-zanP", "--", pattern], {
    input: subjects.map((subject) => `${subject}\0`).join(""),
    env: { PATH: process.env.PATH ?? "", LC_ALL: "C.UTF-8" },
    maxBuffer: 256 * 1024 * 1024,
    encoding: "utf8",
  });
  // 1 is "nothing matched". A backtracking limit or a bad pattern is 2, with a message.
  if (stderr !== "" || (status !== 0 && status !== 1)) throw new Error(`grep exited with ${status}: ${stderr}`);
  const matched = new Set(
    stdout
      .split("\0")
      .slice(0, -1)
      .map((record) => Number(record.slice(0, record.indexOf(":")))),
  );
  return subjects.map((_, index) => matched.has(index + 1));
}
