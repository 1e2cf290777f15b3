/**
 * Stand-ins for both edges: `/close` breaks the connection once it has the whole request, and `/hold` never answers.
 * Writes each request's path as a line to standard output. Ports are the arguments.
 */
import { createServer } from "node:http";

for (const port of process.argv.slice(2)) {
  createServer((request, answer) => {
    request.resume().on("end", () => {
      process.stdout.write(`${request.url}\n`);
      if (request.url === "/health") answer.end();
      if (request.url === "/close") answer.destroy();
    });
  }).listen(Number(port), "127.0.0.1");
}
