import { existsSync, readFileSync } from "node:fs";
import { dirname, join } from "../../machine/paths.ts";

/** The integrity of each package that a lock file names, by `name@version`. */
export interface Locked {
  /** Path of the lock file. */
  readonly file: string;
  readonly integrities: ReadonlyMap<string, string>;
}

interface NpmEntry {
  readonly version?: string;
  readonly integrity?: string;
}

const modulesFolder = "node_modules/";

/** Reads a lock file of npm, such as the one in `node_modules`. */
export function npmLock(text: string): Map<string, string> {
  const { packages = {} } = JSON.parse(text) as { packages?: Readonly<Record<string, NpmEntry>> };
  const found = new Map<string, string>();
  for (const [path, { version, integrity }] of Object.entries(packages)) {
    const name = path.slice(path.lastIndexOf(modulesFolder) + modulesFolder.length);
    if (integrity !== undefined) found.set(`${name}@${version}`, integrity);
  }
  return found;
}

const name = String.raw`((?:@[^\s/"']+/)?[^\s/@"',(]+)`;
const integrity = String.raw`(sha\d+-[A-Za-z0-9+/=]+)`;

/** `'@a/b@1.0.0':`, in older files `/@a/b@1.0.0:` and `/@a/b/1.0.0:`. */
const pnpmPackage = new RegExp(
  String.raw`^ {2}'?/?${name}[@/]([^\s'(:_]+)[^\n]*:\n {4}resolution: \{[^}\n]*integrity: ${integrity}`,
  "gm",
);

/** An alias, `c@npm:@a/b@^1.0.0`, is known by the name of its package. */
const yarnPackage = new RegExp(
  String.raw`^"?(?:[^\s"]+@npm:)?${name}@[^\n]*:\n {2}version "([^"]+)"\n(?: {2}resolved [^\n]*\n)? {2}integrity ${integrity}`,
  "gm",
);

const bunPackage = new RegExp(String.raw`\["${name}@([^"\s]+)",[^\n]*"${integrity}"\]`, "g");

const matching = (pattern: RegExp) => (text: string) =>
  new Map(
    [...text.replaceAll("\r\n", "\n").matchAll(pattern)].map(([, name, version, found]) => [
      `${name}@${version}`,
      found ?? "",
    ]),
  );

/**
 * Reads lock files, by their names. Yarn 2 and later state the checksum of an archive that Yarn makes itself, with
 * which nothing from the registry can be compared.
 */
const formats: Readonly<Record<string, (text: string) => Map<string, string>>> = {
  "package-lock.json": npmLock,
  "pnpm-lock.yaml": matching(pnpmPackage),
  "yarn.lock": matching(yarnPackage),
  "bun.lock": matching(bunPackage),
};

/** The lock file of a project: in its folder, or in the nearest one above that has any. */
export function lockedIn(folder: string): Locked | undefined {
  for (const [name, read] of Object.entries(formats)) {
    const file = join(folder, name);
    if (existsSync(file)) return { file, integrities: read(readFileSync(file, "utf8")) };
  }
  return folder === dirname(folder) ? undefined : lockedIn(dirname(folder));
}
