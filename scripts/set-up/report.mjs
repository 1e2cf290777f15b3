/** The output of the set-up: progress, and errors that say what to do next. */

const PROGRESS_INTERVAL_MILLISECONDS = 10_000;

export class SetUpError extends Error {
  /** @param {string} message @param {readonly string[]} output of the command that failed, shown below the message */
  constructor(message, output = []) {
    super([message, ...output.map((line) => `  ${line}`)].join("\n"));
  }
}

/** @param {readonly (string | undefined)[]} problems @throws {SetUpError} that lists all problems, if there are any */
export function failOnProblems(problems) {
  const all = [...new Set(problems)].filter((problem) => problem !== undefined);
  if (all.length === 0) return;
  throw new SetUpError(
    all.length === 1 ? all.join() : [`${all.length} problems:`, ...all.map((one) => `- ${one}`)].join("\n"),
  );
}

/** @param {string} line */
export function say(line) {
  process.stdout.write(`set-up: ${line}\n`);
}

/**
 * Waits for a promise and reports the elapsed time at intervals.
 *
 * @template T @param {(elapsed: string) => string} describe @param {Promise<T>} promise
 */
export async function withProgress(describe, promise) {
  const startedMilliseconds = Date.now();
  const timer = setInterval(() => {
    const seconds = Math.round((Date.now() - startedMilliseconds) / 1000);
    say(describe(seconds < 60 ? `${seconds} s` : `${Math.floor(seconds / 60)} min ${seconds % 60} s`));
  }, PROGRESS_INTERVAL_MILLISECONDS);
  try {
    return await promise;
  } finally {
    clearInterval(timer);
  }
}
