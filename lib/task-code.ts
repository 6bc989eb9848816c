import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import type { AssetCode, AssetOptions } from "../src/code/build/asset-code.ts";
import type { BuildAnswer, BuildRequest } from "../src/code/build/build-process.ts";
import { startBeside } from "../src/code/describe/beside.ts";
import { TaskFileError } from "../src/code/project/task-modules.ts";
import { codeFile } from "../src/installed/installation.ts";
import { join, realPath, resolve } from "../src/machine/paths.ts";

/** Longest time for a build, in milliseconds: large packages have tens of thousands of files. */
const limitMs = 300_000;

/** The built code of a project's task types, in a folder that is deleted when this process ends. */
export interface TaskFolder {
  readonly folder: string;
  /** Folder with this machine's binaries, at the same paths. It may not be there. */
  readonly here: string;
  /** Folder that the places of the sources start at. */
  readonly root: string;
  /** Calls of `task.once` with a constant key, for the review. */
  readonly onceKeys: AssetCode["onceKeys"];
}

const made = new Map<string, () => TaskFolder>();

/**
 * Builds the task types of a project, once in this process.
 * @throws TaskFileError
 */
export const taskCode = (options: AssetOptions): TaskFolder => startTaskCode(options)();

/** Starts the build beside this process. @returns A function that waits for it, and throws as `taskCode` does. */
export function startTaskCode(options: AssetOptions): () => TaskFolder {
  const full = { ...options, tasks: resolve(options.tasks) };
  const key = JSON.stringify(full);
  const known = made.get(key);
  if (known !== undefined) return known;
  const parent = temporaryFolder("offload-code-");
  const [folder, here] = [join(parent, "code"), join(parent, "here")];
  const built = startBuild({ options: full, out: folder, here, result: join(parent, "result.json") });
  let found: TaskFolder | undefined;
  const wait = () => {
    found ??= { folder, here, ...built() };
    return found;
  };
  made.set(key, wait);
  return wait;
}

const temporary: string[] = [];

function removeTemporary(): void {
  for (const folder of temporary) rmSync(folder, { recursive: true, force: true });
}

/** A folder that is deleted when this process ends. */
export function temporaryFolder(prefix: string): string {
  const folder = mkdtempSync(join(realPath(tmpdir()), prefix));
  // One listener for all: Node warns of a leak above ten.
  if (temporary.length === 0) process.once("exit", removeTemporary);
  temporary.push(folder);
  return folder;
}

function startBuild(request: BuildRequest): () => AssetCode {
  const program = codeFile("src/code/build/build-process");
  const ended = startBeside([program, JSON.stringify(request)], { env: process.env, limitMs });
  return () => {
    const { status, signal, stderr } = ended();
    const answer = answerIn(request.result);
    if (answer === undefined)
      throw new Error(`the build of the task types ended (${signal ?? status}): ${stderr.trim()}`);
    if ("refused" in answer) throw new TaskFileError(answer.refused);
    if ("crash" in answer) throw new Error(`the task types could not be built: ${answer.crash}`);
    return answer.built;
  };
}

function answerIn(file: string): BuildAnswer | undefined {
  try {
    return JSON.parse(readFileSync(file, "utf8"));
  } catch {
    return undefined;
  }
}
