#!/usr/bin/env node
/** `document-rendering`: the command line client of the service (docs/command-line.md). */
import { runProgram } from "./program.ts";

// Whatever reads our output may stop early: `| head` is not a failure.
process.stdout.on("error", (error: NodeJS.ErrnoException) => {
  if (error.code !== "EPIPE") throw error;
});

await runProgram(process.argv.slice(2));
