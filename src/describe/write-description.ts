import { writeFileSync } from "node:fs";
import { pathToFileURL } from "node:url";
import { serialize } from "node:v8";
import { TaskFileError } from "../project/task-modules.ts";
import type { ProcessOptions } from "./describe.ts";
import { type DescribedCode, describeCode } from "./describe-code.ts";

/**
 * Loads a project's built code into this process, and writes its description to a file.
 * @param shell Variables of the user's shell.
 */
export const writeDescription = (options: ProcessOptions, shell: NodeJS.ProcessEnv): Promise<void> =>
  writeAnswer(options.result, described(options, shell));

/** Writes a description to a file, or why there is none. */
export async function writeAnswer(file: string, description: Promise<DescribedCode>): Promise<void> {
  const answer = await description.then(
    (found) => ({ found }),
    (error: unknown) => {
      if (error instanceof TaskFileError) return { refused: error.message };
      return { crash: error instanceof Error ? (error.stack ?? error.message) : String(error) };
    },
  );
  // JSON would lose the names of variables without a value.
  writeFileSync(file, serialize(answer));
}

async function described(
  { file, probes, root, deployed }: ProcessOptions,
  shell: NodeJS.ProcessEnv,
): Promise<DescribedCode> {
  const code = await import(pathToFileURL(file).href);
  if (deployed === undefined) {
    const { localValues } = await import("./worker-environment.ts");
    const { placeInProject } = await import("../project/source-places.ts");
    return describeCode(code, { probes, root, placeOf: placeInProject, valuesOf: localValues(shell) });
  }
  const { placeInSources } = await import("../aws/bundle-places.ts");
  const { deployedValues } = await import("./deployed-values.ts");
  return describeCode(code, { probes, root, placeOf: placeInSources, valuesOf: deployedValues(deployed) });
}

/** Says errors that no code has caught. As in a worker, they end nothing. Returns a function that ends this. */
export function sayStrayErrors(): () => void {
  const say = (error: unknown) => void process.stderr.write(`${String(error)}\n`);
  const events = ["uncaughtException", "unhandledRejection"] as const;
  for (const event of events) process.on(event, say);
  return () => {
    for (const event of events) process.off(event, say);
  };
}
