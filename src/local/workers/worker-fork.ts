import { type ChildProcess, fork } from "node:child_process";
import { ownEndpointPrefix, ownKeyVariable } from "../../aws/lean/environment.ts";
import { type LocalServices, localCredentials, localServicesVariable } from "../../aws/local-services.ts";
import { lambdaEnvironment } from "../../code/describe/lambda-environment.ts";
import { keptVariables } from "../../code/describe/worker-environment.ts";
import { codeFile, leanClients } from "../../installed/installation.ts";
import { answerCalls, doors, doorsVariable } from "../direct/doors.ts";
import { follow } from "../time/followers.ts";
import { movedMs, movedVariable } from "../time/moved-time.ts";
import { compiledEnv } from "./compiled-code.ts";
import { workerFolderVariable } from "./local-code.ts";

/** Heap of a worker process, about that of a Lambda function of 512 MB. */
const heapMb = 384;

export interface WorkerFork {
  /** Environment variables, added to those that workers always get from this process. */
  env: Readonly<Record<string, string>>;
  /**
   * Folder of a worker as it would be deployed: its processes start there, as on Lambda. Undefined: this installation's
   * worker.
   */
  workerFolder?: string | undefined;
  /** Port of the debugger. Undefined: no debugger. */
  inspectPort?: number | undefined;
}

/** Starts a worker process (`worker-process.ts`). */
export function forkWorker({ env, workerFolder, inspectPort }: WorkerFork): ChildProcess {
  const compiled = workerFolder === undefined && inspectPort === undefined ? compiledEnv() : {};
  const direct = workerFolder === undefined && doors() !== undefined ? { [doorsVariable]: "1" } : {};
  const child = fork(codeFile("src/local/workers/worker-process"), {
    env: { ...variablesIn(workerFolder), ...env, [movedVariable]: String(movedMs()), ...compiled, ...direct },
    ...(workerFolder !== undefined && { cwd: workerFolder }),
    execArgv: [
      `--max-old-space-size=${heapMb}`,
      "--enable-source-maps",
      `--conditions=${leanClients}`,
      ...(inspectPort === undefined ? [] : [`--inspect=127.0.0.1:${inspectPort}`]),
    ],
    // A command that runs one task prints its result to the output.
    stdio: ["ignore", workerFolder === undefined ? "inherit" : process.stderr.fd, "pipe", "ipc"],
    serialization: "json",
  });
  answerCalls(child);
  return follow(child);
}

/** Variables of a process besides those of its tier. A deployed worker has nothing of this machine. */
function variablesIn(workerFolder: string | undefined): NodeJS.ProcessEnv {
  const kept = keptVariables(process.env);
  if (workerFolder === undefined) return kept;
  const own = Object.entries(kept).filter(([name]) => /^(OFFLOAD_|AWS_|POWERTOOLS_)/.test(name));
  return {
    ...lambdaEnvironment(workerFolder),
    ...Object.fromEntries(own),
    ...deployedServices(process.env),
    [workerFolderVariable]: workerFolder,
  };
}

/** Variables for a deployed worker's own clients, which read no others. */
function deployedServices(env: NodeJS.ProcessEnv): Record<string, string> {
  const { s3Secret: _, ...services } = JSON.parse(env[localServicesVariable] ?? "{}") as LocalServices;
  const named = Object.entries(services).map(([name, url]) => [ownEndpointPrefix + name.toUpperCase(), url]);
  return { ...Object.fromEntries(named), [ownKeyVariable]: localCredentials.accessKeyId };
}
