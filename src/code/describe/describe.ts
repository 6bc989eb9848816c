import { type ChildProcess, spawn } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { deserialize } from "node:v8";
import { codeFile } from "../../installed/installation.ts";
import { compiledFolder } from "../../installed/user-folder.ts";
import { join } from "../../machine/paths.ts";
import { TaskFileError } from "../project/task-modules.ts";
import { startBeside } from "./beside.ts";
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

interface Surroundings {
  readonly cwd: string;
  readonly env: NodeJS.ProcessEnv;
}

/** A description that is made beside this process. The function waits for it. @throws TaskFileError */
export type Describing = () => DescribedCode;

/** The same, for a caller that cannot wait with promises: a construct's constructor. */
export const startDescribing = (code: CodeToDescribe, around: Surroundings): Describing =>
  startAnswer(argumentsOf(code), code, around);

/** Builds a project's sources for this machine and describes them, in one new process. */
export function startDescribingSources(sources: SourcesToDescribe, { cwd, env }: Surroundings): Describing {
  const compiled = compiledFolder();
  return startAnswer(["--enable-source-maps", codeFile("src/code/describe/sources-process")], sources, {
    cwd,
    env: { ...env, ...(compiled !== undefined && { [compileCacheVariable]: compiled }) },
  });
}

/** Node's variable with the folder for what it compiles. */
export const compileCacheVariable = "NODE_COMPILE_CACHE";

function startAnswer(args: string[], options: object, { cwd, env }: Surroundings): Describing {
  const place = resultPlace();
  const described = { ...env, [optionsVariable]: JSON.stringify({ ...options, result: place.file }) };
  const ended = startBeside(args, { cwd, env: described, limitMs });
  return () => {
    using _ = place;
    const { status, signal, stderr } = ended();
    return answerIn(place.file, String(signal ?? status), stderr);
  };
}

const argumentsOf = ({ deployed }: CodeToDescribe): string[] => [
  ...(deployed === undefined ? ["--enable-source-maps"] : []),
  codeFile("src/code/describe/describe-process"),
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
