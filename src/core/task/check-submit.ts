import { isPromise } from "../../util/foreign-value.ts";
import { Misuse, PermanentError } from "../model/errors.ts";
import { Problem } from "../model/problem.ts";
import { anything, type Check, type Checks, type ChecksOf, optionsFault, text } from "./check-options.ts";
import type { ChildSubmit, SpawnOptions, SubmitOptions, Submittable, UniqueOptions } from "./handler-submit.ts";
import { jsonText, mostValueBytes } from "./json-value.ts";
import { isSignalName } from "./step-names.ts";

/** Two objects have the same text, so they cannot be keys. Nor can halves of characters, which are the same bytes. */
const key: Check = (value) => {
  if (typeof value === "number" && Number.isFinite(value)) return undefined;
  return text(value) ?? ((value as string).isWellFormed() ? undefined : "a text without half a character");
};

const uniqueChecks: ChecksOf<UniqueOptions> = {
  key: text,
  mode: anything,
  waitSeconds: anything,
  maxWaitSeconds: anything,
};

/** The values of options are checked as those of a client's submit. */
const common: ChecksOf<Omit<SpawnOptions, "files">> = {
  priority: anything,
  delaySeconds: anything,
  expiresInSeconds: anything,
  maxAttempts: anything,
  tags: anything,
  key,
};

const submitChecks: ChecksOf<SubmitOptions> = { ...common, unique: anything };
const filesOfTask: Check = (value) =>
  typeof value === "object" ? undefined : "an object of files of task.files, by their names in the child's type";

export const spawnChecks: ChecksOf<SpawnOptions> = { ...common, files: filesOfTask };

/** The one form that all forms of a handler's submit, and of its spawn, are recorded in. */
export const childSubmitOf = <Options extends SubmitOptions = SubmitOptions>(
  given: Submittable | string | (ChildSubmit & Options),
  input?: unknown,
  options?: Options,
): ChildSubmit & Options => {
  if (typeof given === "object" && "type" in given) return given;
  return { type: typeof given === "string" ? given : given.name, input, ...options } as ChildSubmit & Options;
};

/** A submit of a handler, in the one form that both forms are recorded in, with an input of its own. */
export const checkedSubmit = (...given: Parameters<typeof childSubmitOf<SubmitOptions>>): ChildSubmit =>
  checked("submit", submitChecks, given);

/** A spawn of a handler, in the one form that both forms are recorded in, with an input of its own. */
export const checkedSpawn = (...given: Parameters<typeof childSubmitOf<SpawnOptions>>): ChildSubmit & SpawnOptions =>
  checked("spawn", spawnChecks, given);

/** A run of a handler, in the one form that both forms are recorded in, with an input of its own. */
export const checkedRun = (...given: Parameters<typeof childSubmitOf<SpawnOptions>>): ChildSubmit & SpawnOptions =>
  checked("run", spawnChecks, given);

/**
 * A change that a handler makes later to an input that it has submitted is not part of the task.
 * @throws PermanentError for an option that does not exist, and for an input that is no JSON
 */
function checked<Options extends SubmitOptions>(
  what: "submit" | "spawn" | "run",
  checks: Checks,
  [type, input, options]: Parameters<typeof childSubmitOf<Options>>,
): ChildSubmit & Options {
  const refuse = (fault: string) => {
    throw new PermanentError(`task.${what}: ${fault}`, { cause: new Misuse(fault) });
  };
  const isNamed = typeof type === "object" && type !== null && "type" in type;
  if (!isNamed && typeof type !== "string" && typeof (type as Submittable | undefined)?.name !== "string") {
    refuse("expected a task type, or its name");
  }
  if (isNamed && typeof type.type !== "string") refuse("type must be the name of a task type");
  const given = isNamed ? type : (options ?? {});
  const fault = optionsFault(given, isNamed ? { ...checks, type: text, input: anything } : checks);
  if (fault !== undefined) refuse(fault);
  const { unique } = given as { unique?: unknown };
  const uniqueFault = unique === undefined ? undefined : optionsFault(unique, uniqueChecks, { within: "unique" });
  if (uniqueFault !== undefined) refuse(uniqueFault);
  const child = childSubmitOf<Options>(type, input, options);
  if (isPromise(child.input)) refuse("input is a Promise: await it");
  return {
    ...child,
    ...(child.key !== undefined && { key: String(child.key) }),
    ...(child.input !== undefined && { input: ownInput(child.input, what) }),
  };
}

function ownInput(input: unknown, what: string): unknown {
  const { text: json } = jsonText(input, `task.${what}: the input`, "input");
  return json === undefined ? input : JSON.parse(json);
}

/**
 * Checks a signal that a client sends.
 * @param body JSON.
 * @throws Problem `invalid_input` for its name, `too_large` for its body
 */
export function checkSignal(name: string, body: unknown): void {
  if (!isSignalName(name)) {
    const message = 'expected 1 to 64 letters, digits, ".", "_" or "-"';
    throw new Problem("invalid_input", `name: ${message}`, { errors: [{ path: "/name", message }] });
  }
  if (Buffer.byteLength(JSON.stringify(body)) > mostValueBytes) {
    throw new Problem("too_large", `A signal has at most ${mostValueBytes} bytes.`);
  }
}
