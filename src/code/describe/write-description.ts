import { writeFileSync } from "node:fs";
import { pathToFileURL } from "node:url";
import { serialize } from "node:v8";
import { TaskFileError } from "../project/task-modules.ts";
import type { ProcessOptions } from "./describe.ts";
import { type DescribedCode, type DescribeOptions, describeCode } from "./describe-code.ts";

/**
 * Loads a project's built code into this process, and writes its description to a file.
 * @param shell Variables of the user's shell.
 */
export const writeDescription = (options: ProcessOptions, shell: NodeJS.ProcessEnv): Promise<void> =>
  writeAnswer(options.result, (onLoading) => described({ ...options, onLoading }, shell));

type OnLoading = DescribeOptions["onLoading"];

/** Writes a description to a file, or why there is none: also when code ends this process while it is loaded. */
export async function writeAnswer(
  file: string,
  describe: (onLoading: OnLoading) => Promise<DescribedCode>,
): Promise<void> {
  // JSON would lose the names of variables without a value.
  const write = (answer: object) => writeFileSync(file, serialize(answer));
  let loading: string | undefined;
  const onExit = (exitCode: number) => {
    if (loading !== undefined) write({ refused: endedBy(loading, exitCode) });
  };
  process.once("exit", onExit);
  const answer = await describe((loads) => {
    loading = loads;
  }).then(
    (found) => ({ found }),
    (error: unknown) => {
      if (error instanceof TaskFileError) return { refused: error.message };
      return { crash: error instanceof Error ? (error.stack ?? error.message) : String(error) };
    },
  );
  process.off("exit", onExit);
  write(answer);
}

/** Exit code of Node for a module that waits for what never comes. */
const neverLoaded = 13;

const endedBy = (file: string, exitCode: number): string =>
  exitCode === neverLoaded
    ? `${file} could not be imported: it awaits something that never comes.`
    : `${file} could not be imported: it ended the process with exit code ${exitCode}, as process.exit(${exitCode}) does.`;

async function described(
  { file, probes, root, deployed, onLoading }: ProcessOptions & Pick<DescribeOptions, "onLoading">,
  shell: NodeJS.ProcessEnv,
): Promise<DescribedCode> {
  const code = await import(pathToFileURL(file).href);
  if (deployed === undefined) {
    const { localValues } = await import("./worker-environment.ts");
    const { placeInProject } = await import("../project/source-places.ts");
    return describeCode(code, { probes, root, onLoading, placeOf: placeInProject, valuesOf: localValues(shell) });
  }
  const { placeInSources } = await import("../../aws/bundle-places.ts");
  const { deployedValues } = await import("./deployed-values.ts");
  return describeCode(code, { probes, root, onLoading, placeOf: placeInSources, valuesOf: deployedValues(deployed) });
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
