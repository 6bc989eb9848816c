import { execFileSync, spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { join, resolve } from "node:path";

/** The repository's folder. */
export const root = resolve(import.meta.dirname, "../..");

/** Without this project's own programs: a stranger has only what `npm install` gave. */
const strangerPath = (process.env.PATH ?? "")
  .split(":")
  .filter((path) => !path.startsWith(join(root, "node_modules")))
  .join(":");
export const strangerEnv = Object.fromEntries(
  Object.entries(process.env).filter(([name]) => !/^(npm_|NODE_OPTIONS$|INIT_CWD$)/i.test(name)),
);

/** Runs a command in a project as a stranger; returns its output. Throws when it fails. */
export function call(project: string, command: string, ...args: string[]): string {
  const env = { ...strangerEnv, PATH: `${join(project, "node_modules/.bin")}:${strangerPath}`, CI: "true" };
  const { status, stdout, stderr } = spawnSync(command, args, {
    cwd: project,
    env,
    encoding: "utf8",
    timeout: 900_000,
  });
  if (status === 0) return stdout + stderr;
  throw new Error(`${command} ${args.join(" ")} in ${project} ended with ${status}:\n${stdout}\n${stderr}`);
}

/**
 * Packs the repository, or a copy of the package with another version. Returns the file.
 * @param to folder of the file
 * @param more further options of `npm pack`
 */
export function packed(from: string, to: string, ...more: string[]): string {
  const out = execFileSync("npm", ["pack", "--json", "--pack-destination", to, ...more], {
    cwd: from,
    encoding: "utf8",
    stdio: ["ignore", "pipe", "ignore"],
    timeout: 900_000,
  });
  const answer: unknown = JSON.parse(out.slice(out.search(/^[[{]/m)));
  const [{ filename = "" } = {}] = Object.values(answer as Record<string, { filename: string }>);
  return join(to, filename);
}

/** True when there is an emulated AWS account to deploy to. */
export const hasEmulator = (): boolean =>
  process.env.AWS_ENDPOINT_URL !== undefined ||
  existsSync(join(root, ".venv/bin/ministack")) ||
  spawnSync("ministack", ["--help"], { timeout: 900_000 }).status === 0;
