import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { join, resolve } from "node:path";
import { receiverHost } from "./receiver.ts";

/** What retry waits are multiplied by: 30 s become 1 s. */
const timeScale = "0.01";

/** How long the server may take to start, and then to stop. */
const startLimitMs = 30_000;
const stopLimitMs = 8_000;

/** How many lines of the server's output a failed start shows. */
const shownLines = 30;

/** A local server in a process of its own. */
export interface OwnServer {
  url: string;
  /** Its output so far. */
  output(): string;
  stop(): Promise<void>;
  /** Ends the process without a word, as a power cut would. */
  kill(): Promise<void>;
}

/**
 * Gives the black-box suites an Offload to test: the one that `OFFLOAD_URL` names, else a local server of their own, on
 * free ports, that keeps nothing.
 * @returns What stops it.
 */
export default async function startLocalServer(): Promise<(() => Promise<void>) | undefined> {
  if (process.env.OFFLOAD_URL) return undefined;
  const server = await startOwnServer({ OFFLOAD_CALLBACK_HOSTS: receiverHost });
  process.env.OFFLOAD_URL = server.url;
  process.env.OFFLOAD_TIME_SCALE = timeScale;
  return () => server.stop();
}

/**
 * Starts a local server on free ports, that keeps nothing, unless a setting says where, and has short retry waits.
 * @param settings Its further environment.
 * @param cwd The project's folder. Default: this one.
 * @param command The command that starts it. Default: `start`.
 */
export async function startOwnServer(
  settings: Record<string, string>,
  cwd = ".",
  command: readonly string[] = ["start"],
): Promise<OwnServer> {
  const ports = { PORT: "0", OFFLOAD_DYNAMODB_PORT: "0", OFFLOAD_SQS_PORT: "0" };
  const env = { ...process.env, OFFLOAD_TIME_SCALE: timeScale, ...settings, ...ports };
  const args = settings.OFFLOAD_STATE_DIR === undefined ? [...command, "--ephemeral"] : command;
  const own = join(cwd, "bin/offload.js");
  const server = fork(resolve(existsSync(own) ? own : "bin/offload.js"), args, {
    cwd,
    env,
    execArgv: [],
    silent: true,
  });
  let output = "";
  for (const stream of [server.stdout, server.stderr]) {
    stream?.on("data", (chunk: Buffer) => {
      output += chunk.toString("utf8");
    });
  }
  return { url: await urlOf(server), output: () => output, stop: () => stop(server), kill: () => kill(server) };
}

/** The server's URL, once it is ready. */
async function urlOf(server: ChildProcess): Promise<string> {
  const lines: string[] = [];
  for (const stream of [server.stdout, server.stderr]) {
    stream?.setEncoding("utf8").on("data", (text: string) => lines.splice(0, lines.length, ...newest(lines, text)));
  }
  const failed = (why: string) => new Error(`the local server ${why}:\n${lines.join("\n")}`);
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => {
      server.kill("SIGKILL");
      reject(failed(`was not ready after ${startLimitMs / 1000} s`));
    }, startLimitMs);
    server.once("message", (message: { url: string }) => {
      clearTimeout(timer);
      resolve(message.url);
    });
    server.once("exit", (code, signal) => {
      clearTimeout(timer);
      reject(failed(`ended at its start (${signal ?? `code ${code}`})`));
    });
  });
}

const newest = (lines: readonly string[], text: string): string[] =>
  [...lines, ...text.split("\n").filter((line) => line.trim() !== "")].slice(-shownLines);

/** Ends the process by its own signal handler; by force when that takes too long. */
async function stop(server: ChildProcess): Promise<void> {
  if (server.exitCode !== null || server.signalCode !== null) return;
  const exited = once(server, "exit");
  server.kill("SIGTERM");
  const timer = setTimeout(() => server.kill("SIGKILL"), stopLimitMs);
  await exited;
  clearTimeout(timer);
}

async function kill(server: ChildProcess): Promise<void> {
  const exited = once(server, "exit");
  server.kill("SIGKILL");
  await exited;
}
