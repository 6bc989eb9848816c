import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { join } from "../machine/paths.ts";
import { durationSeconds } from "../util/duration.ts";
import { packageFolder } from "./installation.ts";
import type { MoveAnswer } from "./server-clock.ts";

/** Longest start, and longest clean stop, in milliseconds. */
const startLimitMs = 240_000;
const stopLimitMs = 8_000;

/** Lines of the server's output that a failed start shows. */
const shownLines = 30;

/** Options of `startLocalServer`. */
export interface LocalServerOptions {
  /** The project's folder. Default: the working directory. */
  folder?: string;
  /** Folder of the server's data, which outlives the server. Default: it saves nothing. */
  stateFolder?: string;
  /** Further environment, for the server's settings and for handlers. It wins over this process's environment. */
  env?: Readonly<Record<string, string>>;
  /** Command that starts it. Default: `start`, which does not follow changes of task files. */
  command?: readonly string[];
}

/** The outcome of a move of a server's clock. */
export type Advanced = Pick<MoveAnswer, "now" | "did" | "summary">;

/** A local server that a test started, in a process of its own. */
export interface TestServer {
  /** URL of the API. */
  readonly url: string;
  /**
   * `OFFLOAD_URL`, `OFFLOAD_KEY` of an operator, and the settings of `offload/direct`, for programs that use the
   * server.
   */
  readonly env: Readonly<Record<string, string>>;
  /** Id of its process. Its child processes are the workers. */
  readonly pid: number;
  /** The server's output so far. */
  output(): string;
  /**
   * Moves the server's clock by a duration such as `2d`, `90m` or `1d 12h`, or to a time. All that is due in between
   * happens at its time: delays, retries, schedules, sleeps, expiry. Resolves when it is done.
   * @returns the outcome, as counts and in one line
   * @example await offload.advance("30d");
   */
  advance(time: string | Date): Promise<Advanced>;
  /** Ends the server cleanly, as Ctrl-C does. */
  stop(): Promise<void>;
  /** Ends the server at once, as a power cut does. Its workers end when they notice it. */
  kill(): Promise<void>;
}

/**
 * Starts `offload start` on free ports, for tests that use a project over HTTP. It stops when the test's process ends.
 * @throws Error with the last lines of the output when the server does not start within 60 s
 */
export const startLocalServer = (options: LocalServerOptions = {}): Promise<TestServer> =>
  startServerOf(join(packageFolder, "bin/offload.js"), options);

/** As `startLocalServer`, of the installation with this file of the command, and on this Node. */
export async function startServerOf(
  file: string,
  options: LocalServerOptions,
  execPath = process.execPath,
): Promise<TestServer> {
  const { folder = ".", stateFolder, command = ["start"], env = {} } = options;
  const server = fork(file, [...command, ...(stateFolder === undefined ? ["--ephemeral"] : ["--state", stateFolder])], {
    cwd: folder,
    env: { ...process.env, ...env, PORT: "0", OFFLOAD_DYNAMODB_PORT: "0", OFFLOAD_SQS_PORT: "0" },
    execPath,
    execArgv: [],
    silent: true,
  });
  let output = "";
  for (const stream of [server.stdout, server.stderr]) {
    stream?.setEncoding("utf8").on("data", (text: string) => {
      output += text;
    });
  }
  const callers = await started(server, () => output);
  return {
    ...callers,
    pid: server.pid ?? 0,
    output: () => output,
    advance: (time) => advance(callers.url, time),
    stop: () => stop(server),
    kill: () => kill(server),
  };
}

/** @throws RangeError for a text that is no duration; Error when the server refuses the time */
async function advance(url: string, time: string | Date): Promise<Advanced> {
  const { orderClock } = await import("./server-clock.ts");
  if (typeof time !== "string") return orderClock(url, { at: time.toISOString() });
  const seconds = durationSeconds(time);
  if (seconds === undefined) throw new RangeError(`advance: expected a duration such as 2d or 90m, got ${time}`);
  return orderClock(url, { advance_seconds: seconds });
}

const lastLines = (output: string): string =>
  output
    .split("\n")
    .filter((line) => line.trim() !== "")
    .slice(-shownLines)
    .join("\n");

/** Resolves with the server's message that it is ready. */
function started(server: ChildProcess, output: () => string): Promise<Pick<TestServer, "url" | "env">> {
  const failed = (why: string) => new Error(`the local server ${why}:\n${lastLines(output())}`);
  return new Promise((ready, reject) => {
    const timer = setTimeout(() => {
      server.kill("SIGKILL");
      reject(failed(`was not ready after ${startLimitMs / 1000} s`));
    }, startLimitMs);
    server.once("message", (message: Pick<TestServer, "url" | "env">) => {
      clearTimeout(timer);
      ready(message);
    });
    server.once("exit", (code, signal) => {
      clearTimeout(timer);
      reject(failed(`ended at its start (${signal ?? `code ${code}`})`));
    });
  });
}

const hasEnded = ({ exitCode, signalCode }: ChildProcess): boolean => exitCode !== null || signalCode !== null;

/**
 * Ends the server: it stops when its channel to this process is closed. Windows has no SIGTERM. It ends by force when
 * that takes too long.
 */
async function stop(server: ChildProcess): Promise<void> {
  if (hasEnded(server)) return;
  const exited = once(server, "exit");
  if (server.connected) server.disconnect();
  else server.kill("SIGTERM");
  const timer = setTimeout(() => server.kill("SIGKILL"), stopLimitMs);
  await exited;
  clearTimeout(timer);
}

async function kill(server: ChildProcess): Promise<void> {
  if (hasEnded(server)) return;
  const exited = once(server, "exit");
  server.kill("SIGKILL");
  await exited;
}
