import { readFileSync } from "node:fs";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { goldenReleases, presentForms, readGoldens, writeGoldens } from "./support/golden.ts";

/*
 * `npm run golden`: which stored forms this commit writes in another way than `test/golden` says. With `--read-since 0.4.0` it
 * notes them, as forms that this release and later ones read: `docs/stored-forms.md` has the rule.
 */

const { values } = parseArgs({ options: { "read-since": { type: "string" } } });
const readSince = values["read-since"];
const { version } = JSON.parse(readFileSync(join(import.meta.dirname, "../package.json"), "utf8")) as {
  version: string;
};
const latest = goldenReleases().at(-1);
const known = latest === undefined ? {} : readGoldens(latest);
const present = await presentForms();
const isSame = (name: string) =>
  JSON.stringify(known[name]?.written) === JSON.stringify(present[name]?.written) && known[name] !== undefined;
const changed = Object.keys(present).filter((name) => !isSame(name));
const gone = Object.keys(known).filter((name) => present[name] === undefined);

for (const name of changed) console.log(`${known[name] === undefined ? "new" : "changed"}: ${name}`);
for (const name of gone) console.log(`no longer written: ${name}`);
if (changed.length + gone.length === 0 && latest === version) console.log("every stored form is written as noted");
else if (readSince === undefined) {
  console.log("\nnot noted: say with --read-since which release reads them first; it must be an earlier one than this");
  process.exitCode = 1;
} else {
  const noted = Object.entries(present).map(([name, form]) => {
    const read_since = changed.includes(name) ? readSince : (known[name]?.read_since ?? readSince);
    return [name, { read_since, ...form }] as const;
  });
  writeGoldens(version, Object.fromEntries(noted));
  console.log(`noted in test/golden/${version}.json`);
}
