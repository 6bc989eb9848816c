import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { deserialize } from "node:v8";
import { codeFile } from "../installed/installation.ts";
import { TaskFileError } from "../project/task-modules.ts";
import type { DescribedCode } from "./describe-code.ts";

/** Variable with the options of `describe-process.ts`. */
export const optionsVariable = "OFFLOAD_DESCRIBE";

export interface CodeToDescribe {
  /** The first file of the built code. */
  readonly file: string;
  /** Folder that the places of the sources start at. */
  readonly root: string;
  readonly probes: boolean;
  /**
   * Values of variables that a deployment sets. Undefined: the code is that of this machine, with the values of the
   * shell and `.env`.
   */
  readonly deployed?: Readonly<Record<string, string>>;
}

export interface ProcessOptions extends CodeToDescribe {
  /** File for the description. */
  readonly result: string;
}

/** A project's sources, for a deployment's template alone: nothing is built for Lambda. */
export interface SourcesToDescribe {
  /** Folder of the task files. */
  readonly tasks: string;
  readonly probes: boolean;
  /** Values of variables that the deployment sets. */
  readonly deployed: Readonly<Record<string, string>>;
}

export interface SourcesProcessOptions extends SourcesToDescribe {
  /** File for the description. */
  readonly result: string;
}

/** Longest time for loading a project's code, in milliseconds. */
export const limitMs = 60_000;

/** Loads the project's built code in a new process, and describes it. @throws TaskFileError when that process ends */
export async function describe(
  code: CodeToDescribe,
  started: (child: ChildProcess) => void = () => {},
): Promise<DescribedCode> {
  using place = resultPlace();
  const child = spawn(process.execPath, argumentsOf(code), {
    env: { ...process.env, [optionsVariable]: JSON.stringify({ ...code, result: place.file }) },
    stdio: ["ignore", "ignore", "pipe"],
    timeout: limitMs,
    killSignal: "SIGKILL",
  });
  started(child);
  let said = "";
  child.stderr.on("data", (text: Buffer) => {
    said += text.toString();
  });
  const signal = await new Promise<string>((done) => child.once("close", (exit, by) => done(String(by ?? exit))));
  return answerIn(place.file, signal, said);
}

/** The same, without waiting: a construct's constructor must not. */
export const describeNow = (code: CodeToDescribe, cwd: string, env: NodeJS.ProcessEnv): DescribedCode =>
  answerNow(argumentsOf(code), code, { cwd, env });

/**
 * Builds a project's sources for this machine and describes them, in one new process, without waiting. @throws
 * TaskFileError
 */
export const describeSourcesNow = (sources: SourcesToDescribe, cwd: string, env: NodeJS.ProcessEnv): DescribedCode =>
  answerNow(["--enable-source-maps", codeFile("src/describe/sources-process")], sources, { cwd, env });

function answerNow(args: string[], options: object, { cwd, env }: { cwd: string; env: NodeJS.ProcessEnv }) {
  using place = resultPlace();
  const { status, signal, stderr } = spawnSync(process.execPath, args, {
    cwd,
    env: { ...env, [optionsVariable]: JSON.stringify({ ...options, result: place.file }) },
    stdio: ["ignore", "ignore", "pipe"],
    encoding: "utf8",
    timeout: limitMs,
    killSignal: "SIGKILL",
  });
  return answerIn(place.file, String(signal ?? status), stderr);
}

const argumentsOf = ({ deployed }: CodeToDescribe): string[] => [
  ...(deployed === undefined ? ["--enable-source-maps"] : []),
  codeFile("src/describe/describe-process"),
];

export function resultPlace(): Disposable & { file: string } {
  const folder = mkdtempSync(join(tmpdir(), "offload-describe-"));
  return { file: join(folder, "code.bin"), [Symbol.dispose]: () => rmSync(folder, { recursive: true, force: true }) };
}

/** @throws TaskFileError */
export function answerIn(file: string, ended: string, said: string): DescribedCode {
  const answer = readAnswer(file);
  if (answer?.found !== undefined) return answer.found;
  if (answer?.refused !== undefined) throw new TaskFileError(answer.refused);
  const reason = answer?.crash ?? said.trim().split("\n").slice(-8).join("\n");
  const how = ended === "SIGKILL" ? "took longer than a minute, or was killed" : `ended its process (${ended})`;
  throw new TaskFileError(
    `Loading the task files ${answer === undefined ? how : "failed"}${reason === "" ? "." : `: ${reason}`}`,
  );
}

function readAnswer(file: string): { found?: DescribedCode; refused?: string; crash?: string } | undefined {
  try {
    return deserialize(readFileSync(file));
  } catch {
    return undefined;
  }
}
