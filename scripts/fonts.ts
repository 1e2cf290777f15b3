/** `npm run fonts`: fetches fonts for `SERVICE_FONT_PATHS` from Debian's packages (docs/packages-and-fonts.md). */
import { addFontSets, findFontProblems, readFontsLock, removeFontSets } from "./fonts/font-folder.ts";
import { FONT_GROUP, FONT_SETS } from "./fonts/font-sets.ts";
import { FONTS_FOLDER } from "./vendoring/folders.ts";
import { defineProgram, reportVerification, say } from "./vendoring/program.ts";

const SETS = ["<sets...>", "such as noto"] as const;

const { defineCommand, runCommandLine } = defineProgram(
  "fonts",
  "Fetches sets of fonts for SERVICE_FONT_PATHS from Debian's packages.",
  FONTS_FOLDER,
);

defineCommand("add", "Download sets of fonts, or replace them by what Debian has now.")
  .argument(...SETS)
  .action(async (names, { to }) => {
    for (const name of await addFontSets(to, names)) say(`added ${name}`);
  });

defineCommand("remove", "Remove sets of fonts.")
  .argument(...SETS)
  .action(async (names, { to }) => {
    for (const name of await removeFontSets(to, names)) say(`removed ${name}`);
  });

defineCommand("list", "Show all sets, and the versions of those in the folder.").action(async ({ to }) => {
  const { sets } = await readFontsLock(to);
  for (const [name, { description }] of Object.entries(FONT_SETS)) {
    const versions = sets[name]?.packages.map((one) => `${one.name} ${one.version}`).join(", ");
    say(`${name}: ${description} (${versions ?? "not added"})`);
  }
  say(`${FONT_GROUP}: ${Object.keys(FONT_SETS).join(", ")}`);
});

defineCommand("verify", "Compare every file with the lock file.").action(async ({ to }) =>
  reportVerification(await findFontProblems(to), "Every set is as the lock file says."),
);

await runCommandLine();
