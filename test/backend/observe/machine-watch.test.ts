/** What the log says when the processes of a machine run short. */
import { expect, it } from "vitest";
import { describeLackOfProcesses } from "../../../backend/observe/machine-watch.ts";

it.each([
  ["enough zombies to be the cause", 24, /^105 of 128 .* need 24\. 24 of them have ended\. Process 1 .* does not wait/],
  [
    "zombies of the renders under way",
    23,
    /^105 of 128 .* need 24\. Raise the limit on processes of the container or the user\.$/,
  ],
  ["no zombies", 0, / need 24\. Raise the limit/],
])("%s", (_what, zombies, line) => {
  expect(describeLackOfProcesses({ used: 105, max: 128 }, 24, zombies)).toMatch(line);
});
