import { cpSync, existsSync } from "node:fs";
import { Token } from "aws-cdk-lib";
import { startDescribing, startDescribingSources } from "../src/code/describe/describe.ts";
import { type DescribedApp, withOnceKeys } from "../src/code/describe/described.ts";
import { lambdaEnvironment } from "../src/code/describe/lambda-environment.ts";
import type { LoadProblem } from "../src/code/describe/load-problem.ts";
import { TaskFileError } from "../src/code/project/task-modules.ts";
import { join, resolve } from "../src/machine/paths.ts";
import { checkAsset } from "./asset-checks.ts";
import { codeOptionsOf } from "./code-options.ts";
import { type BundleFiles, bundle } from "./esbuild.ts";
import { folderOfWorker, keepWorker } from "./kept-workers.ts";
import type { TaskPipelineProps } from "./pipeline-props.ts";
import { inOneLine } from "./setting-error.ts";
import { startTaskCode, temporaryFolder } from "./task-code.ts";

/** A deployment's options for the code of its task types. */
export interface TaskOptions {
  readonly files: BundleFiles & { readonly tasks: string };
  readonly probes: boolean;
  /** Values of variables that the deployment sets. */
  readonly variables: Readonly<Record<string, string>>;
}

/** The options for the code among a pipeline's options. */
export const taskOptionsOf = (props: TaskPipelineProps): TaskOptions => ({
  files: { tasks: props.tasks ?? "tasks", copies: props.workerFiles ?? {}, ...codeOptionsOf(props) },
  probes: props.probes ?? false,
  variables: knownValues(props.environment),
});

/** Values that only a deployment knows have a text that stands for them. */
const knownValues = (values: Readonly<Record<string, string>> = {}): Record<string, string> =>
  Object.fromEntries(
    Object.entries(values).map(([name, value]) => [name, Token.isUnresolved(value) ? `value-of-${name}` : value]),
  );

const made = new Map<string, DescribedApp>();

/** Loads the task types, as `startLoading` does, and waits for them. */
export const loadTasks = (options: TaskOptions, isStarted?: boolean): DescribedApp =>
  startLoading(options, isStarted)();

/**
 * Describes the project's task types, schedules, triggers and environment beside this process.
 * @param isStarted True to build the worker, and to start it once as Lambda would. False where nothing is bundled, as
 * in a test of templates.
 * @returns A function that waits for them. It throws a TaskFileError with each file that could not be loaded, the
 * reason and the cure.
 */
export function startLoading(options: TaskOptions, isStarted = true): () => DescribedApp {
  const key = JSON.stringify([process.cwd(), options, isStarted]);
  const known = made.get(key);
  if (known !== undefined) return () => known;
  const loading = isStarted ? startWorker(options) : startSources(options);
  return () => {
    try {
      const app = made.get(key) ?? loading();
      made.set(key, app);
      return app;
    } catch (error) {
      throw error instanceof TaskFileError ? inOneLine(error) : error;
    }
  };
}

/** Starts the worker in a folder that has nothing else of the project. */
function startWorker({ files, probes, variables }: TaskOptions): () => DescribedApp {
  const build = startTaskCode(files);
  return () => {
    const { root, here, onceKeys } = build();
    const bare = folderOfWorker();
    bundle("worker", bare, files);
    checkAsset(bare);
    if (existsSync(here)) cpSync(here, bare, { recursive: true });
    const code = { file: join(bare, "index.mjs"), root, probes, deployed: variables };
    const env = { ...lambdaEnvironment(bare), OFFLOAD_LOAD_ONLY: "1" };
    const { app: described, problems } = startDescribing(code, { cwd: bare, env })();
    const app = withOnceKeys(described, onceKeys);
    refuse(app, problems);
    keepWorker({ folder: bare, root, app, variables });
    return app;
  };
}

function startSources({ files, probes, variables }: TaskOptions): () => DescribedApp {
  const bare = temporaryFolder("offload-describe-");
  const sources = { tasks: resolve(files.tasks), probes, deployed: variables };
  const describing = startDescribingSources(sources, { cwd: bare, env: lambdaEnvironment(bare) });
  return () => {
    const { app, problems } = describing();
    refuse(app, problems);
    return app;
  };
}

/** @throws TaskFileError when there are problems */
function refuse({ environment }: DescribedApp, problems: readonly LoadProblem[]): void {
  if (problems.length === 0) return;
  throw new TaskFileError(problems.map((problem) => refusalOf(problem, Object.keys(environment.secrets))).join("\n"));
}

/** Says which file and package are wrong, why, and what to do. */
function refusalOf({ message, code, stack, placeholders }: LoadProblem, secrets: readonly string[]): string {
  const pack = /node_modules\/(?:\.versions\/\d+\/node_modules\/)?((?:@[^/\s]+\/)?[^/\s:]+)/.exec(
    `${stack ?? ""} ${message}`,
  )?.[1];
  const cure = cureOf(code, pack, placeholders);
  const known = secrets.length > 0 && placeholders.length > 0 ? ` It read the secret ${placeholders.join(", ")}.` : "";
  return `${message.trimEnd()}${known}${cure === undefined ? "" : ` ${cure}`}`;
}

function cureOf(
  code: string | undefined,
  pack: string | undefined,
  placeholders: readonly string[],
): string | undefined {
  if (placeholders.length > 0) {
    return "At synth its value is a placeholder: read the secret in the handler, or accept any text when the file is loaded.";
  }
  const named = pack === undefined ? "the package" : JSON.stringify(pack);
  if (code === "MODULE_NOT_FOUND" || code === "ERR_MODULE_NOT_FOUND") {
    return `Install it; if a computed name loads it, add its name to the option nodeModules of the TaskPipeline.`;
  }
  if (code === "ENOENT") return "Add the file to the option assets of the TaskPipeline.";
  if (code === "ERR_DLOPEN_FAILED") return `Install ${named} again for this machine.`;
  return pack === undefined
    ? undefined
    : `If it works outside of the bundle, add ${named} to the option external of the TaskPipeline.`;
}
