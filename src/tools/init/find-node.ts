import { existsSync } from "node:fs";
import { delimiter, join } from "node:path";
import { nodeName, runProgram } from "../../machine/platform.ts";
import { addCommand, type Manager } from "./manager.ts";

const neededMajor = 24;

/** The version of a Node; undefined when the program is missing or does not run. */
function versionOf(path: string | undefined): string | undefined {
  if (path === undefined) return undefined;
  return /^v\d+\.\d+\.\d+/.exec(runProgram(path, ["--version"]).stdout ?? "")?.[0];
}

/** True for a Node that runs task files. */
export const runsTasks = (path: string | undefined): boolean =>
  Number(versionOf(path)?.slice(1).split(".")[0] ?? 0) >= neededMajor;

/** The Node that the machine has, without the packages of any project. */
export const machineNode = (): string | undefined =>
  (process.env.PATH ?? "")
    .split(delimiter)
    .filter((path) => !/[\\/]node_modules[\\/]/.test(path))
    .map((path) => join(path.replaceAll('"', ""), nodeName))
    .find((path) => existsSync(path));

/**
 * Finds the Node that runs a project: that of its package `node`, else the machine's.
 * @param withNode true: the project has the package `node`
 */
export function nodeFor(folder: string, manager: Manager, withNode: boolean): { node: string } | { missing: string } {
  const own = [folder, manager.root].map((root) => join(root, "node_modules/node/bin", nodeName)).find(runsTasks);
  const machine = machineNode();
  const node = own ?? (runsTasks(machine) ? machine : undefined);
  if (node !== undefined) return { node };
  const has = versionOf(machine) ?? "no Node";
  const needs = "Offload's commands need Node 24, and this machine has";
  if (!withNode) {
    const call = "call `npx -p node@24 offload dev`, or install Node 24 (https://nodejs.org)";
    return { missing: `${needs} ${has}. Your own scripts keep the Node that they have: ${call}` };
  }
  const empty = "the package `node` is empty, as its install script did not run (ignore-scripts)";
  const call = `Call \`${scriptCommand(manager)}\`, or install Node 24 (https://nodejs.org) and remove the package`;
  return { missing: `${needs} ${has}; ${empty}. ${call}` };
}

/** The command that runs the install script of the package `node`. */
const scriptCommand = (manager: Manager): string =>
  ({
    npm: "npm rebuild node --ignore-scripts=false",
    pnpm: "pnpm rebuild node --config.ignore-scripts=false",
    yarn: `YARN_ENABLE_SCRIPTS=1 ${addCommand(manager, "node@24")}`,
    bun: "bun pm trust node",
  })[manager.name];
