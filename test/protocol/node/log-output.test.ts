/** Lines for an output that is read late or never. */
import { Writable } from "node:stream";
import { expect, it } from "vitest";
import { LogOutput } from "../../../protocol/node/log-output.ts";

const LINE = `${"x".repeat(1023)}\n`;
const FIT = 1024;

/** An output that takes nothing until it is read. */
class Unread extends Writable {
  text = "";
  #isRead = false;
  #next = () => {};

  override _write(chunk: Buffer, _encoding: string, done: () => void): void {
    const take = () => {
      this.text += chunk.toString();
      done();
    };
    if (this.#isRead) take();
    else this.#next = take;
  }

  read(): void {
    this.#isRead = true;
    this.#next();
  }
}

it("keeps a mebibyte, drops whole lines beyond it, and says how many once there is room", () => {
  const output = new Unread();
  const log = new LogOutput(output);
  for (let n = 0; n < FIT + 3; n++) log.writeLine(LINE);
  expect(output.writableLength).toBe(LINE.length * FIT);
  output.read();
  log.writeLine("the next\n");
  log.writeLine("the last\n");
  const report = '{"message":"log lines were dropped","lines":3}\n';
  expect(output.text === `${LINE.repeat(FIT)}${report}the next\nthe last\n`).toBe(true);
});

it("goes on when whoever read it has gone", () => {
  const output = new Writable({ write: (_chunk, _encoding, done) => done(new Error("EPIPE")) });
  new LogOutput(output).writeLine("a\n");
});
