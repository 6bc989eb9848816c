import type { ManagerName } from "./manager.ts";

/*
 * Packages whose install scripts a project has to allow. Newer package managers run no others, and warn or fail.
 */

/** Packages below Offload with install scripts. */
const ownBuilds = ["classic-level", "esbuild"];

/** Packages with install scripts in a project that runs on the package `node`, or on the machine's own. */
export const builds = (withNode: boolean): string[] => [...ownBuilds, ...(withNode ? ["node"] : [])];

/** The members of `package.json` that allow install scripts. */
export function allowedBuilds(manager: ManagerName, names: readonly string[]): Record<string, [string, boolean][]> {
  return manager === "npm" ? { allowScripts: names.map((name) => [name, true]) } : {};
}

/**
 * Allows install scripts in `pnpm-workspace.yaml`, beside all that is there.
 * @param text of the file, which may be empty
 * @param version of pnpm. Its 10.26 has another setting than those before it.
 * @returns undefined when they are allowed already, or this pnpm runs all scripts
 */
export function allowedByPnpm(text: string, version: string, names: readonly string[]): string | undefined {
  const yaml = text.replaceAll("\r\n", "\n");
  const [major = 0, minor = 0] = version.split(".").map(Number);
  if (major < 10) return undefined;
  const isMap = major > 10 || minor >= 26;
  const key = isMap ? "allowBuilds" : "onlyBuiltDependencies";
  const section = sectionOf(yaml, key);
  const missing = names.filter((name) => !new RegExp(`^\\s+(?:- )?["']?${name}["']?\\s*(?::|$)`, "m").test(section));
  if (missing.length === 0) return undefined;
  const lines = missing.map((name) => (isMap ? `  ${name}: true\n` : `  - ${name}\n`)).join("");
  if (section !== "") return yaml.replace(section, `${section.replace(/\n*$/, "\n")}${lines}`);
  return `${yaml === "" ? "" : yaml.replace(/\n*$/, "\n")}${key}:\n${lines}`;
}

/** A key at the left margin with the lines below it. */
const sectionOf = (yaml: string, key: string): string =>
  new RegExp(`^${key}:[ \\t]*\\n(?:[ \\t]+.*(?:\\n|$))*`, "m").exec(yaml)?.[0] ?? "";
