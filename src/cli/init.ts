import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { basename, dirname, join, relative, resolve } from "node:path";
import { type Folder, type Manifest, type Plan, planInit } from "../init/plan.ts";
import { packageFolder, packageVersion } from "../installation.ts";
import { typeNameOf } from "../task-modules.ts";
import type { Register } from "./register.ts";
import { CommandFailed, type Terminal, UsageError } from "./terminal.ts";

interface InitOptions {
  yes?: boolean;
  install: boolean;
}

const examples = `
In an empty folder it makes a complete small project. In a project it adds what is missing. It overwrites no file.

Examples:
  npx offload init                 this folder
  npx offload init mail-tasks      a new folder
`;

/** `offload init` */
export const register: Register = (command, terminal) => {
  command
    .argument("[folder]", "folder of the project", ".")
    .option("-y, --yes", "do not ask")
    .option("--no-install", "do not install the packages")
    .addHelpText("after", examples)
    .action(async (path: string, options: InitOptions) => {
      const folder = resolve(path);
      const plan = planInit(read(folder), versions());
      if (isDone(plan)) return terminal.out("Nothing is missing.");
      show(terminal, folder, plan);
      await agree(terminal, options);
      write(folder, plan);
      if (options.install) install(terminal, folder);
      for (const text of plan.byHand) terminal.out(`\n${text}`);
      terminal.out(nextSteps(folder, options.install));
    });
};

const isDone = ({ files, manifest }: Plan): boolean => Object.keys(files).length === 0 && manifest === undefined;

function show(terminal: Terminal, folder: string, { files, manifest, added }: Plan): void {
  terminal.out(`In ${folder}:`);
  const paths =
    added.length === 0 && manifest !== undefined ? ["package.json", ...Object.keys(files)] : Object.keys(files);
  for (const path of paths) terminal.out(`  + ${path}`);
  if (added.length > 0) terminal.out(`  ~ package.json: ${added.join(", ")}`);
}

/** @throws CommandFailed when the user says no; UsageError when nobody can be asked */
async function agree(terminal: Terminal, { yes }: InitOptions): Promise<void> {
  const answer = yes === true || (await terminal.confirm("Write these files?", true));
  if (answer === undefined) throw new UsageError("there is no terminal to ask on: give --yes");
  if (!answer) throw new CommandFailed("nothing was written");
}

const leftByInstall = ["package.json", "package-lock.json", "node_modules", ".git"];

/** @throws CommandFailed for a `package.json` that is not JSON */
function read(folder: string): Folder {
  const has = (path: string) => existsSync(join(folder, path));
  const list = (path: string) => (has(path) ? readdirSync(join(folder, path)) : []);
  return {
    name: basename(folder),
    manifest: has("package.json") ? manifestOf(folder) : undefined,
    has,
    isNew: list("").every((name) => leftByInstall.includes(name)),
    hasTasks: list("tasks").some((file) => typeNameOf(file) !== file),
  };
}

function manifestOf(folder: string): Manifest {
  const path = join(folder, "package.json");
  try {
    return JSON.parse(readFileSync(path, "utf8")) as Manifest;
  } catch (cause) {
    throw new CommandFailed(`${path} is not JSON: ${(cause as Error).message}`, { cause });
  }
}

/** The versions that this release is tested with. */
function versions() {
  const { devDependencies = {} } = manifestOf(packageFolder);
  return { offload: packageVersion(), packages: devDependencies };
}

function write(folder: string, { files, manifest }: Plan): void {
  mkdirSync(folder, { recursive: true });
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    // `wx`: a file that was made since the plan stays.
    writeFileSync(join(folder, path), text, { flag: "wx" });
  }
  if (manifest !== undefined) writeFileSync(join(folder, "package.json"), `${JSON.stringify(manifest, null, 2)}\n`);
}

/** Package managers, by their lockfiles. */
const managers = { "pnpm-lock.yaml": "pnpm", "yarn.lock": "yarn", "bun.lock": "bun" } as const;

const managerOf = (folder: string): string =>
  Object.entries(managers).find(([file]) => existsSync(join(folder, file)))?.[1] ?? "npm";

function install(terminal: Terminal, folder: string): void {
  const manager = managerOf(folder);
  terminal.note(`Installing with ${manager}.`);
  const { status } = spawnSync(manager, ["install"], { cwd: folder, stdio: ["ignore", "ignore", "inherit"] });
  if (status !== 0) throw new CommandFailed(`\`${manager} install\` failed in ${folder}; the files are written`);
}

function nextSteps(folder: string, installed: boolean): string {
  const path = relative(process.cwd(), folder);
  const steps = [
    ...(path === "" ? [] : [`cd ${path}`]),
    ...(installed ? [] : ["npm install"]),
    "npx offload dev          # everything on this machine",
    "npx vitest run           # the task types' tests",
    "npx cdk deploy --all     # to your AWS account",
  ];
  return `\nNext:\n${steps.map((step) => `  ${step}`).join("\n")}`;
}
