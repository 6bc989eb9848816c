import { existsSync, mkdtempSync, realpathSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type KeptWorker, keptWorkers, keptWorkersVariable } from "../../../lib/kept-workers.ts";
import { readDotEnv, workerEnvironment } from "../../code/describe/worker-environment.ts";
import { tasksFolder } from "../../code/project/task-folder.ts";
import type { Project } from "../../local/deployment/project.ts";
import { defaultKeys, type Given, readLocalSettings } from "../../local/deployment/settings.ts";
import { localKey } from "./connection.ts";
import { CommandFailed, type Terminal } from "./terminal.ts";

/** A local server whose workers are the worker that would be deployed. */
export interface BundleServer {
  readonly url: string;
  readonly key: string;
  close(): Promise<void>;
}

/**
 * Builds the workers as a synthesis does, and starts a local server on the worker of a task type, in a folder that has
 * nothing else of the project.
 * @param context CDK context of the synthesis.
 * @throws CommandFailed, TaskFileError
 */
export async function startOnBundle(
  terminal: Terminal,
  type: string,
  context: Readonly<Record<string, string>>,
): Promise<BundleServer> {
  const folder = mkdtempSync(join(realpathSync(tmpdir()), "offload-bundle-"));
  const remove = () => rmSync(folder, { recursive: true, force: true });
  process.once("exit", remove);
  try {
    terminal.note("Building the worker as for a deployment.");
    const worker = workerOf(type, await builtWorkers(folder, context));
    const { startServer } = await import("../../local/server/server.ts");
    Object.assign(process.env, flags, { OFFLOAD_LOG_TO: "stderr" });
    const server = await startServer(readLocalSettings(process.env, true, flags), terminal.note, projectOf(worker));
    const close = () => server.close().finally(remove);
    return { url: server.url, key: localKey, close };
  } catch (error) {
    remove();
    throw error;
  }
}

/** Settings of the server: free ports, and none of the probe types. */
const flags: Given = {
  PORT: "0",
  OFFLOAD_DYNAMODB_PORT: "0",
  OFFLOAD_SQS_PORT: "0",
  OFFLOAD_KEYS: defaultKeys,
  OFFLOAD_PROBES: "0",
};

/**
 * The workers of the project's CDK app. A project without one has the worker that its task files make without any
 * option.
 */
async function builtWorkers(folder: string, context: Readonly<Record<string, string>>): Promise<KeptWorker[]> {
  if (existsSync("cdk.json")) {
    const { synthesizeApp } = await import("../../../lib/assembly.ts");
    await synthesizeApp(join(folder, "assembly"), context, { [keptWorkersVariable]: folder });
    return keptWorkers(folder);
  }
  process.env[keptWorkersVariable] = folder;
  const { loadTasks } = await import("../../../lib/load-tasks.ts");
  loadTasks({ files: { tasks: tasksFolder() }, probes: false, variables: {} });
  delete process.env[keptWorkersVariable];
  return keptWorkers(folder);
}

/** @throws CommandFailed for a type that no worker function has */
function workerOf(type: string, workers: readonly KeptWorker[]): KeptWorker {
  const found = workers.find(({ app }) => app.catalog.some(({ name }) => name === type));
  if (found === undefined) {
    const known = workers.flatMap(({ app }) => app.catalog.map(({ name }) => name));
    throw new CommandFailed(`no worker of this app has the task type ${type}; they have ${known.join(", ") || "none"}`);
  }
  if (found.app.catalog.some(({ name, runs_on }) => name === type && runs_on === "container")) {
    throw new CommandFailed(`${type} runs in containers, and --bundle starts a worker function`);
  }
  return found;
}

function projectOf({ folder, root, app, variables }: KeptWorker): Project {
  const { environment } = app;
  const deployed = { ...environment, variables: { ...environment.variables, ...variables } };
  return {
    code: { file: join(folder, "index.mjs"), root, sources: [], [Symbol.dispose]: () => {} },
    workerFolder: folder,
    catalog: app.catalog,
    schedules: [],
    triggers: [],
    environment: workerEnvironment(deployed, process.env, readDotEnv()),
    files: app.files,
    problems: [],
  };
}
