import { buildLocalCode, type LocalCode } from "../build/local-code.ts";
import { constantKeysIn } from "../build/once-keys.ts";
import { TaskFileError } from "../project/task-modules.ts";
import { type CodeToDescribe, describe } from "./describe.ts";
import type { DescribedCode } from "./describe-code.ts";
import { type DescribedApp, withOnceKeys } from "./described.ts";

/** A project's code on this machine, built and described. */
export interface LocalApp extends DescribedCode {
  readonly code: LocalCode;
}

/**
 * Builds the code of a tasks folder, and describes it.
 * @param describing Describes built code. Default: a process of its own does.
 * @throws TaskFileError
 */
export async function loadApp(
  folder: string,
  probes: boolean,
  describing: (code: CodeToDescribe) => Promise<DescribedCode> = describe,
): Promise<LocalApp> {
  const code = await buildLocalCode(folder);
  try {
    return { code, ...(await describing({ ...code, probes })) };
  } catch (error) {
    code[Symbol.dispose]();
    throw error;
  }
}

/**
 * Describes the code of a tasks folder for a command that needs all of it.
 * @throws TaskFileError for the first file that cannot be loaded
 */
export async function wholeApp(folder: string, probes: boolean): Promise<DescribedApp> {
  const { app } = await wholeCode(folder, probes);
  return app;
}

/** The same, with the findings in the sources. */
export async function reviewedApp(folder: string, probes: boolean): Promise<DescribedApp> {
  const { code, app } = await wholeCode(folder, probes);
  return withOnceKeys(app, constantKeysIn(code.root, code.sources));
}

async function wholeCode(folder: string, probes: boolean): Promise<LocalApp> {
  const { code, app, problems } = await loadApp(folder, probes);
  code[Symbol.dispose]();
  if (problems[0] !== undefined) throw new TaskFileError(problems[0].message);
  return { code, app, problems };
}
