import { existsSync } from "node:fs";
import { constants } from "node:os";
import { resolve } from "node:path";
import { tasksFolder } from "../../code/project/task-folder.ts";
import { TaskFileError } from "../../code/project/task-modules.ts";
import { tiers } from "../../core/model/words.ts";
import {
  defaultKeys,
  flagOf,
  type Given,
  type LocalSettings,
  readLocalSettings,
  type Variable,
} from "../../local/deployment/settings.ts";
import { consoleLink } from "../../local/server/console-link.ts";
import { directEnv } from "../../local/server/direct-submit.ts";
import { type LocalServer, startServer } from "../../local/server/server.ts";
import { defaultSpansFile } from "../../local/traces/kept-span.ts";
import { endProgram, shellWord, startProgram } from "../../machine/platform.ts";
import { onScreen, UsageError } from "./terminal.ts";

/** Time limit of a clean stop. After it the process exits anyway. */
const stopLimitMs = 4_500;

/** Time between two looks at the parent process, in milliseconds. */
const parentCheckMs = 250;

export interface StartOptions {
  ephemeral: boolean;
  /** Settings of the command line. They win over their variables. */
  flags: Given;
  /** True when the server follows changes of the task files. Default: false. */
  reload?: boolean;
  /** Debugger port of the first tier's worker. Default: no debugger. */
  inspect?: number;
  /** A program that runs beside the server: its file and its arguments. Empty: none. */
  beside?: readonly string[];
}

/**
 * Starts the local server, prints the start text, and stops cleanly on Ctrl-C and SIGTERM, and when npm, which started
 * it, is ended.
 * @throws UsageError with a message of one line for a wrong flag; Error for a wrong variable or a port in use
 */
export async function start({ ephemeral, flags, reload = false, inspect, beside = [] }: StartOptions): Promise<void> {
  const startedAt = performance.now();
  const print = (line: string) => process.stdout.write(`${process.stdout.isTTY ? onScreen(line) : line}\n`);
  // The output's reader is gone, or its file is on a full disk. The server goes on without it.
  for (const output of [process.stdout, process.stderr]) output.on("error", () => {});
  let stop = (): void => process.exit(1);
  watchNpm(() => stop());
  // The program that started this process through an IPC channel has ended, and would never stop it.
  process.on("disconnect", () => stop());
  // The listener alone would keep the process alive after a start that failed.
  process.channel?.unref();
  const settings = {
    ...settingsOf(ephemeral, flags),
    reload,
    ...(inspect !== undefined && { inspectPort: inspect }),
  };
  // The functions and the workers read some of them.
  Object.assign(process.env, flags);
  const server = await startServer(settings, print)
    .catch((error: unknown) => startWhenMended(error, settings, print))
    .catch((error: unknown) => explain(error, settings));
  print(firstScreen(server, settings, performance.now() - startedAt));
  const env = callersEnv(server.url, settings.keys);
  process.send?.({ url: server.url, env }, () => {});
  const end = endOnce(async () => {
    await program?.stop();
    await server.close();
  }, print);
  const program = beside.length > 0 ? startBeside(beside, { ...programEnv(), ...env }, end) : undefined;
  stop = () => end(0);
  process.on("SIGINT", stop);
  process.on("SIGTERM", stop);
}

/** This process's environment, without the port of Offload's API: a program takes `PORT` for its own. */
function programEnv(): NodeJS.ProcessEnv {
  const { PORT, ...env } = process.env;
  return env;
}

/** A program of the project, such as its web server, that runs beside the local server. */
interface Beside {
  /** Asks the program to end. Resolves when it has ended. */
  stop(): Promise<void>;
}

/**
 * Starts a program with this terminal.
 * @param command its file and its arguments
 * @param ended called with its exit code, once it has ended: 127 for a file that does not exist
 */
function startBeside(
  [file = "", ...args]: readonly string[],
  env: NodeJS.ProcessEnv,
  ended: (code: number) => void,
): Beside {
  const program = startProgram(file, args, { env, stdio: "inherit" });
  const exited = new Promise<number>((resolve) => {
    program.once("error", (error) => {
      process.stderr.write(`Could not start ${file}: ${error.message}\n`);
      resolve(127);
    });
    program.once("exit", (code, signal) => resolve(code ?? 128 + constants.signals[signal ?? "SIGTERM"]));
  });
  void exited.then(ended);
  return {
    stop: async () => {
      endProgram(program);
      await exited;
    },
  };
}

/**
 * Environment for programs that use the local server: its URL, a key, and the settings of programs that submit
 * directly.
 * @param url URL of the API
 * @param keys the server's keys, as `key:tenant:role` with commas between them; the first one is the program's
 */
const callersEnv = (url: string, keys: string): Record<string, string> => ({
  ...directEnv(),
  OFFLOAD_URL: url,
  OFFLOAD_KEY: keys.split(":")[0] ?? "",
});

/** A server that reloads starts when a broken task file is mended. A folder that does not exist is a wrong folder. */
async function startWhenMended(
  error: unknown,
  settings: LocalSettings,
  print: (line: string) => void,
): Promise<LocalServer> {
  const folder = tasksFolder();
  if (!(error instanceof TaskFileError) || settings.reload !== true || !existsSync(folder)) throw error;
  print(`Not started: ${error.message}\n\nThe server starts when the task files can be loaded. Press Ctrl-C to stop.`);
  const { loadableApp } = await import("../../local/server/reload.ts");
  return startServer(settings, print, await loadableApp(folder, settings.probes, error.message, print));
}

/** Returns a function that closes the server at its first call, and then exits with the given code. */
function endOnce(close: () => Promise<void>, print: (line: string) => void): (code: number) => void {
  let ending = false;
  return (code) => {
    if (ending) return;
    ending = true;
    print("Stopping.");
    setTimeout(() => process.exit(1), stopLimitMs).unref();
    void close().then(
      () => process.exit(code),
      () => process.exit(1),
    );
  };
}

/**
 * Calls back when npm was ended. npm passes SIGTERM to the shell in which it runs a script, and the shell ends without
 * passing it on; then this process gets another parent.
 */
function watchNpm(ended: () => void): void {
  if (process.env.npm_lifecycle_event === undefined) return;
  const parent = process.ppid;
  setInterval(() => {
    if (process.ppid !== parent) ended();
  }, parentCheckMs).unref();
}

function settingsOf(ephemeral: boolean, flags: Given): LocalSettings {
  try {
    return readLocalSettings(process.env, ephemeral, flags);
  } catch (error) {
    const { message } = error as Error;
    throw message.startsWith("--") ? new UsageError(message) : error;
  }
}

function explain(error: unknown, { port, dynamodbPort, sqsPort }: LocalSettings): never {
  const { code, port: taken } = error as { code?: string; port?: number };
  if (code !== "EADDRINUSE") throw error;
  const ports: [Variable, number][] = [
    ["PORT", port],
    ["OFFLOAD_DYNAMODB_PORT", dynamodbPort],
    ["OFFLOAD_SQS_PORT", sqsPort],
  ];
  const names = ports.filter(([, value]) => value === taken).map(([name]) => `${flagOf(name)} (${name})`);
  throw new Error(`Port ${taken} is in use. Set ${names.join(" or ")} to a free port, or to 0.`);
}

function firstScreen(server: LocalServer, settings: LocalSettings, ms: number): string {
  const token = settings.keys === defaultKeys ? defaultKeys.split(":")[0] : "<a key of yours>";
  const kept = settings.stateDir === undefined ? "data is not saved (--ephemeral)" : `data in ${settings.stateDir}/`;
  return `
  Offload is running on this machine (started in ${(ms / 1000).toFixed(1)} s, ${kept}).

    API        ${server.url}
    Console    ${consoleLink(server.url, settings.keys)}
    DynamoDB   ${server.dynamodbUrl}
    SQS        ${server.sqsUrl}
    S3         ${server.s3Url}
    Events     ${server.eventsUrl}

  Submit a task, then open its poll_url with the same header:

    curl -i ${server.url}/tasks \\
      -H 'Authorization: Bearer ${token}' -H 'Content-Type: application/json' \\
      -d '${exampleBody(server)}'

  Press Ctrl-C to stop. Requests and attempts are logged below.${reloadLine(settings)}${debuggerLine(settings)}${spansLine(server)}
`;
}

function exampleBody({ types }: LocalServer): string {
  return types.includes("probe.echo")
    ? '{"type":"probe.echo","input":{"value":"hello"}}'
    : `{"type":"${types[0] ?? "your.type"}","input":{ ... }}`;
}

const reloadLine = ({ reload }: LocalSettings): string =>
  reload === true ? "\n  Save a task file: the next attempts run its new code." : "";

function debuggerLine({ inspectPort }: LocalSettings): string {
  if (inspectPort === undefined) return "";
  const ports = tiers.map((tier, index) => `${tier} ${inspectPort + index}`).join(", ");
  return `\n  Debugger ports of the workers: ${ports}. Attach to 127.0.0.1. Time-outs and leases wait at a breakpoint.`;
}

/** Names the file only when it is not the default of `offload trace`. */
function spansLine({ spansFile }: LocalServer): string {
  if (spansFile === undefined) return "";
  const option = spansFile === resolve(defaultSpansFile) ? "" : ` --file ${shellWord(spansFile)}`;
  return `\n  Spans are saved. To see them: npx offload trace <task id>${option}`;
}
