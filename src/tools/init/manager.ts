import { existsSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";

export type ManagerName = "npm" | "pnpm" | "yarn" | "bun";

/** The package manager of a project. */
export interface Manager {
  name: ManagerName;
  /** Folder of its lockfile and settings: the workspace's, for a package of a workspace. */
  root: string;
}

const files: readonly (readonly [string, ManagerName])[] = [
  ["pnpm-lock.yaml", "pnpm"],
  ["pnpm-workspace.yaml", "pnpm"],
  ["yarn.lock", "yarn"],
  [".yarnrc.yml", "yarn"],
  ["bun.lock", "bun"],
  ["bun.lockb", "bun"],
  ["package-lock.json", "npm"],
];

/**
 * Finds the package manager by the lockfiles, the settings and `packageManager` of the folder and of those above it, up
 * to the repository's root; else the manager that started this program.
 * @param agent npm_config_user_agent
 */
export function managerOf(folder: string, agent = ""): Manager {
  for (let root = folder; ; root = dirname(root)) {
    const name = managerIn(root);
    if (name !== undefined) return { name, root };
    if (existsSync(join(root, ".git")) || dirname(root) === root) break;
  }
  return { name: nameIn(agent.split("/")[0]) ?? "npm", root: folder };
}

function managerIn(root: string): ManagerName | undefined {
  const [, byFile] = files.find(([file]) => existsSync(join(root, file))) ?? [];
  const { packageManager } = jsonIn(join(root, "package.json"));
  return nameIn(typeof packageManager === "string" ? packageManager.split("@")[0] : undefined) ?? byFile;
}

const nameIn = (text: string | undefined): ManagerName | undefined =>
  (["npm", "pnpm", "yarn", "bun"] as const).find((name) => name === text);

/** Empty for a file that is missing or not JSON: another step says so. */
function jsonIn(path: string): Record<string, unknown> {
  try {
    return JSON.parse(readFileSync(path, "utf8")) as Record<string, unknown>;
  } catch {
    return {};
  }
}

/** True when Yarn keeps the packages in archives (Plug'n'Play), which is the default from Yarn 2 on. */
export function usesPnp({ name, root }: Manager): boolean {
  const settings = join(root, ".yarnrc.yml");
  if (name !== "yarn") return false;
  const linker = existsSync(settings) ? /^nodeLinker:\s*["']?([\w-]+)/m.exec(readFileSync(settings, "utf8"))?.[1] : "";
  if (linker === undefined || linker === "pnp") return true;
  if (linker !== "") return false;
  const { packageManager = "" } = jsonIn(join(root, "package.json"));
  return existsSync(join(root, ".pnp.cjs")) || /^yarn@[2-9]/.test(String(packageManager));
}

/** Options of an installation that changes the lockfile: some managers refuse that where `CI` is set. */
export function installFlags({ name, root }: Manager): string[] {
  if (name === "pnpm") return ["--no-frozen-lockfile"];
  return name === "yarn" && isModernYarn(root) ? ["--no-immutable"] : [];
}

/** True for Yarn from 2 on, which has settings of another name. */
const isModernYarn = (root: string): boolean =>
  existsSync(join(root, ".yarnrc.yml")) ||
  /^yarn@[2-9]/.test(String(jsonIn(join(root, "package.json")).packageManager ?? ""));

/** The command that adds packages for development. */
export const addCommand = ({ name }: Manager, ...packages: string[]): string =>
  `${{ npm: "npm install --save-dev", pnpm: "pnpm add --save-dev", yarn: "yarn add --dev", bun: "bun add --dev" }[name]} ${packages.join(" ")}`;

/** The command that runs a program of an installed package. */
export const runCommand = ({ name }: Manager, program: string): string =>
  `${{ npm: "npx", pnpm: "pnpm exec", yarn: "yarn run", bun: "bunx" }[name]} ${program}`;
