/** `npm run fonts`: fetches fonts for `SERVICE_FONT_PATHS` from Debian's packages (docs/packages-and-fonts.md). */
import { Command } from "@commander-js/extra-typings";
import { addFontSets, findFontProblems, readFontsLock, removeFontSets } from "./fonts/font-folder.ts";
import { FONT_GROUP, FONT_SETS } from "./fonts/font-sets.ts";
import { FONTS_FOLDER } from "./vendoring/folders.ts";
import { reportVerification, runProgram, say } from "./vendoring/program.ts";

const TO = ["--to <folder>", "the folder of fonts", FONTS_FOLDER] as const;
const SETS = ["<sets...>", "such as noto"] as const;

const program = new Command("fonts").description(
  "Fetches sets of fonts for SERVICE_FONT_PATHS from Debian's packages.",
);

program
  .command("add")
  .description("Download sets of fonts, or replace them by what Debian has now.")
  .argument(...SETS)
  .option(...TO)
  .action(async (names, { to }) => {
    for (const name of await addFontSets(to, names)) say(`added ${name}`);
  });

program
  .command("remove")
  .description("Remove sets of fonts.")
  .argument(...SETS)
  .option(...TO)
  .action(async (names, { to }) => {
    for (const name of await removeFontSets(to, names)) say(`removed ${name}`);
  });

program
  .command("list")
  .description("Show all sets, and the versions of those in the folder.")
  .option(...TO)
  .action(async ({ to }) => {
    const { sets } = await readFontsLock(to);
    for (const [name, { description }] of Object.entries(FONT_SETS)) {
      const versions = sets[name]?.packages.map((one) => `${one.name} ${one.version}`).join(", ");
      say(`${name}: ${description} (${versions ?? "not added"})`);
    }
    say(`${FONT_GROUP}: ${Object.keys(FONT_SETS).join(", ")}`);
  });

program
  .command("verify")
  .description("Compare every file with the lock file.")
  .option(...TO)
  .action(async ({ to }) => reportVerification(await findFontProblems(to), "Every set is as the lock file says."));

await runProgram(program);
