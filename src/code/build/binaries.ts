import { cpSync, existsSync, mkdirSync, readdirSync, rmSync } from "node:fs";
import { dirname, join } from "../../machine/paths.ts";
import { TaskFileError } from "../project/task-modules.ts";
import { type CopiedPackages, filesOfPackage } from "./choose.ts";
import { installedFor } from "./install-for.ts";
import type { Layout } from "./layout.ts";
import { machineOf, targetMachine } from "./machine.ts";
import { areTried, isOptional } from "./optional-binaries.ts";
import { type Manifest, manifestOf, packageName } from "./places.ts";
import type { TracedFiles } from "./trace.ts";

export interface CopiedBinaries {
  /** Folder of the project. */
  root: string;
  /** Folder of the built code, with the packages as they are installed on this machine. */
  out: string;
  /** Folder for this machine's binaries, at the same paths, with which the built code starts here. */
  here: string;
  files: TracedFiles;
  packages: CopiedPackages;
  layout: Layout;
}

/** A package with machine code, and the packages that bring it, each for one kind of machine. */
interface Family {
  owner: string;
  brought: string[];
}

const isForOneMachine = ({ os, cpu }: Manifest): boolean => os !== undefined || cpu !== undefined;

/**
 * Replaces this machine's binaries by those of Lambda's machine. The binaries of a package that installs them as
 * packages of their own are installed for that machine, too. Binaries that a package makes where it is installed are
 * left out where the code does without them; the others stay, for the check of the finished code to refuse.
 * @throws TaskFileError when binaries cannot be installed
 */
export async function useTargetBinaries(given: CopiedBinaries): Promise<void> {
  for (const family of familiesOf(given.packages)) {
    const own = binariesOf(family.owner);
    const all = [...own, ...family.brought.flatMap(binariesOf)];
    if (all.every(fits)) continue;
    if (!all.some(fits)) {
      if (family.brought.length === 0) {
        leaveOut(family.owner, given);
        continue;
      }
      await install(family.owner, given);
    }
    useOnlyTarget(family, given);
  }
}

/**
 * Leaves out what was made where the package is installed, if the code does without it. Nobody else has it for Lambda.
 * A program that neither this machine nor Lambda can run, such as one for Windows, is needed on neither.
 */
function leaveOut(owner: string, { out, files, layout }: CopiedBinaries): void {
  const own = binariesOf(owner);
  const binaries = own.map(({ file }) => file);
  const isWhole = isOptional(owner, files);
  const isForOthers = !own.some(({ machine }) => [process.platform, "linux"].includes(systemOf(machine)));
  if (!isWhole && !isForOthers && !areTried(binaries, files)) return;
  const paths = isWhole ? [""] : binaries.map((file) => file.slice(owner.length));
  for (const place of layout.get(owner) ?? []) {
    for (const path of paths) rmSync(join(out, place, path), { recursive: true, force: true });
  }
}

/** Moves the binaries for other machines away. */
function useOnlyTarget({ owner, brought }: Family, given: CopiedBinaries): void {
  for (const binary of binariesOf(owner)) {
    if (!fits(binary)) moveAway(given, owner, binary.file.slice(owner.length));
  }
  for (const folder of brought) {
    if (!binariesOf(folder).some(fits)) moveAway(given, folder, "");
  }
}

/** The system of a machine, such as `linux` of `linux-x64`. */
const systemOf = (machine: string): string => machine.split("-")[0] ?? "";

const fits = ({ machine }: { machine: string }): boolean => machine === targetMachine;

/** The packages with machine code: those for one machine belong to the package that lists them as optional. */
function familiesOf(packages: CopiedPackages): Family[] {
  const manifests = [...packages.keys()].map((folder) => ({ folder, manifest: manifestOf(folder) ?? {} }));
  const owners = manifests.filter(({ manifest }) => !isForOneMachine(manifest));
  const brought = manifests.filter(({ manifest }) => isForOneMachine(manifest)).map(({ folder }) => folder);
  const lists = (manifest: Manifest, folder: string) =>
    manifest.optionalDependencies?.[packageName(folder)] !== undefined;
  return owners.map(({ folder: owner, manifest }) => ({
    owner,
    brought: brought.filter((folder) => lists(manifest, folder)),
  }));
}

const binariesOf = (folder: string): { file: string; machine: string }[] =>
  filesOfPackage(folder).flatMap((file) => {
    const machine = machineOf(file);
    return machine === undefined ? [] : [{ file, machine }];
  });

/** Moves a file of a copied package, or all of it, to the folder that only this machine uses. */
function moveAway({ out, here, layout }: CopiedBinaries, folder: string, path: string): void {
  for (const place of layout.get(folder) ?? []) {
    const from = join(out, place, path);
    if (!existsSync(from)) continue;
    mkdirSync(dirname(join(here, place, path)), { recursive: true });
    cpSync(from, join(here, place, path), { recursive: true });
    rmSync(from, { recursive: true });
  }
}

/** Installs the packages with a package's binaries for Lambda, and copies them below each of its places. */
async function install(owner: string, { root, out, layout }: CopiedBinaries): Promise<void> {
  const { version = "" } = manifestOf(owner) ?? {};
  const installed = await installedFor(root, packageName(owner), version);
  const found = packagesIn(installed).filter((folder) => isForOneMachine(manifestOf(folder) ?? {}));
  const good = found.filter((folder) => binariesOf(folder).some(fits));
  if (good.length === 0) {
    throw new TaskFileError(`${packageName(owner)}@${version} has no package with binaries for ${targetMachine}.`);
  }
  for (const folder of good) {
    for (const place of layout.get(owner) ?? []) {
      for (const file of filesOfPackage(folder)) {
        const target = join(out, place, "node_modules", packageName(folder), file.slice(folder.length));
        mkdirSync(dirname(target), { recursive: true });
        cpSync(file, target);
      }
    }
  }
}

/** Folders of the packages in a `node_modules` folder. */
const packagesIn = (folder: string): string[] =>
  readdirSync(folder)
    .filter((name) => !name.startsWith("."))
    .flatMap((name) => (name.startsWith("@") ? readdirSync(join(folder, name)).map((one) => `${name}/${one}`) : [name]))
    .map((name) => join(folder, name))
    .filter((path) => existsSync(join(path, "package.json")));
