import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { basename, dirname, join, relative, resolve } from "node:path";
import { typeNameOf } from "../../code/project/task-modules.ts";
import { packageFolder, packageVersion } from "../../installed/installation.ts";
import { startServerOf } from "../../installed/test-server.ts";
import { runProgram, shellWord } from "../../machine/platform.ts";
import { allowedByPnpm, builds } from "../init/builds.ts";
import { machineNode, nodeFor, runsTasks } from "../init/find-node.ts";
import { installFlags, type Manager, managerOf, runCommand } from "../init/manager.ts";
import { obstacles } from "../init/obstacles.ts";
import { type Folder, type Manifest, type Plan, planInit } from "../init/plan.ts";
import type { Register } from "./group.ts";
import { agree, CommandFailed, said, type Terminal } from "./terminal.ts";

const examples = `
In an empty folder it makes a complete small project. In a project it adds what is missing. It overwrites no file. At the end it starts the
project once, as a check.

Examples:
  npx offload init                 this folder
  npx offload init mail-tasks      a new folder
`;

/** A change of a file that exists. */
interface Edit {
  path: string;
  text: string;
  why: string;
}

const options = [
  ["[folder]", "folder of the project", { initial: "." }],
  ["-y, --yes", "do not ask"],
  ["--no-install", "do not install the packages"],
] as const;

/** `offload init` */
export const register: Register = (group) => {
  const { terminal } = group;
  group.help(examples).does(options, async ({ yes, install }, path) => {
    const folder = resolve(path);
    const manager = managerOf(folder, process.env.npm_config_user_agent);
    refuse(folder, manager);
    const plan = planInit(read(folder, manager), versions());
    const edits = editsOf(folder, manager, plan);
    if (isDone(plan, edits)) {
      terminal.out("Nothing is missing.");
      return;
    }
    show(terminal, folder, plan, edits);
    await agree(terminal, { yes, question: "Write these files?", preselected: true, no: "nothing was written" });
    write(folder, plan, edits);
    if (install) await installAndStart(terminal, folder, manager, plan);
    for (const text of plan.byHand) terminal.out(`\n${text}`);
    terminal.out(nextSteps(folder, manager, install === true));
  });
};

const isDone = ({ files, manifest }: Plan, edits: readonly Edit[]): boolean =>
  Object.keys(files).length === 0 && manifest === undefined && edits.length === 0;

/** @throws CommandFailed before anything is written, with what stands in the way and its cures */
function refuse(folder: string, manager: Manager): void {
  const { devDependencies = {}, dependencies = {} } = existsSync(join(folder, "package.json"))
    ? manifestOf(folder)
    : {};
  const installed = (name: string): string | undefined => {
    for (let place = folder; ; place = dirname(place)) {
      const path = join(place, "node_modules", name);
      if (existsSync(join(path, "package.json"))) return String(manifestOf(path).version);
      if (dirname(place) === place) return undefined;
    }
  };
  const versionOf = (name: string) => {
    const range = dependencies[name] ?? devDependencies[name];
    // A package above the project, which nothing here names, is not the project's.
    return range === undefined ? undefined : (installed(name) ?? range);
  };
  const reasons = obstacles({ manager, versionOf }, versions().packages);
  if (reasons.length > 0) throw new CommandFailed(`nothing was written:\n${reasons.join("\n")}`);
}

/** Changes of files that exist, besides `package.json`. */
function editsOf(folder: string, manager: Manager, { tsconfig, withNode }: Plan): Edit[] {
  const edits: Edit[] = [];
  if (tsconfig !== undefined) {
    const why = "your own build leaves the new files out: they are built by Offload, and would change its output";
    edits.push({ path: join(folder, "tsconfig.json"), text: tsconfig, why });
  }
  if (manager.name === "pnpm") {
    const path = join(manager.root, "pnpm-workspace.yaml");
    const names = builds(withNode);
    const text = allowedByPnpm(existsSync(path) ? readFileSync(path, "utf8") : "", versionIn(folder, "pnpm"), names);
    if (text !== undefined) edits.push({ path, text, why: `pnpm runs the install scripts of ${names.join(", ")}` });
  }
  return edits;
}

/** The version of a package manager; empty when it is not found. */
const versionIn = (folder: string, name: string): string =>
  runProgram(name, ["--version"], { cwd: existsSync(folder) ? folder : "." }).stdout?.trim() ?? "";

function show(terminal: Terminal, folder: string, { files, manifest, added }: Plan, edits: readonly Edit[]): void {
  terminal.out(`In ${folder}:`);
  const paths =
    added.length === 0 && manifest !== undefined ? ["package.json", ...Object.keys(files)] : Object.keys(files);
  for (const path of paths) terminal.out(`  + ${path}`);
  if (added.length > 0) terminal.out(`  ~ package.json: ${added.join(", ")}`);
  for (const { path, why } of edits) terminal.out(`  ~ ${relative(folder, path)}: ${why}`);
}

const leftByInstall = [
  ...["package.json", "package-lock.json", "node_modules", ".git", ".npmrc", ".nvmrc", ".yarnrc.yml", ".yarn"],
  ...["pnpm-lock.yaml", "pnpm-workspace.yaml", "yarn.lock", "bun.lock"],
];

/** @throws CommandFailed for a `package.json` that is not JSON */
function read(folder: string, { name: manager }: Manager): Folder {
  const has = (path: string) => existsSync(join(folder, path));
  const list = (path: string) => (has(path) ? readdirSync(join(folder, path)) : []);
  return {
    name: basename(folder),
    manifest: has("package.json") ? manifestOf(folder) : undefined,
    has,
    isNew: list("").every((name) => leftByInstall.includes(name)),
    hasTasks: list("tasks").some((file) => typeNameOf(file) !== file),
    tsconfig: has("tsconfig.json") ? readFileSync(join(folder, "tsconfig.json"), "utf8") : undefined,
    manager,
    nodeSuffices: runsTasks(machineNode()),
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

function write(folder: string, { files, manifest }: Plan, edits: readonly Edit[]): void {
  mkdirSync(folder, { recursive: true });
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    // `wx`: a file that was made since the plan stays.
    writeFileSync(join(folder, path), text, { flag: "wx" });
  }
  for (const { path, text } of edits) writeFileSync(path, text);
  if (manifest !== undefined) writeFileSync(join(folder, "package.json"), `${JSON.stringify(manifest, null, 2)}\n`);
}

async function installAndStart(terminal: Terminal, folder: string, manager: Manager, { withNode }: Plan) {
  install(terminal, folder, manager);
  const done = "the files are written and the packages installed, but";
  const found = nodeFor(folder, manager, withNode);
  if ("missing" in found) throw new CommandFailed(`${done} ${found.missing}`);
  terminal.note("Starting it once.");
  try {
    const server = await startServerOf(join(packageFolder, "bin/offload.js"), { folder }, found.node);
    await server.stop();
  } catch (error) {
    const said = (error as Error).message;
    throw new CommandFailed(`${done} ${said}`, { cause: error });
  }
  terminal.out("The project starts, with its task types and its local queues.");
}

/** @throws CommandFailed when the packages could not be installed */
function install(terminal: Terminal, folder: string, manager: Manager): void {
  const { name } = manager;
  terminal.note(`Installing with ${name}.`);
  const { status, error, stdout } = runProgram(name, ["install", ...installFlags(manager)], {
    cwd: folder,
    stdio: ["ignore", "pipe", "inherit"],
    maxBuffer: 64 * 1024 * 1024,
  });
  if (error !== undefined) {
    throw new CommandFailed(`${name} was not found; the files are written. Call \`${name} install\` where it is`);
  }
  if (status === 0) return;
  // Some managers write their errors to the output.
  terminal.note(stdout.trim().split("\n").slice(-15).join("\n"));
  throw new CommandFailed(`\`${name} install\` failed in ${folder}; the files are written`);
}

function nextSteps(folder: string, manager: Manager, installed: boolean): string {
  const path = relative(process.cwd(), folder);
  const steps = said(
    path !== "" && `cd ${shellWord(path)}`,
    !installed && `${manager.name} install`,
    `${runCommand(manager, "offload dev")}          # everything on this machine`,
    `${manager.name === "npm" ? "npm" : `${manager.name} run`} test                 # the task types' tests`,
    `${runCommand(manager, "cdk deploy --all")}     # to your AWS account`,
  );
  return `\nNext:\n${steps.map((step) => `  ${step}`).join("\n")}`;
}
