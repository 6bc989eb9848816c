import { nearestNames } from "../../util/nearest.ts";
import { checkNow } from "../model/check-now.ts";
import { inputProblem, parseInput } from "../model/invalid.ts";
import { Problem } from "../model/problem.ts";
import type { KnownType } from "../task/catalog.ts";
import { type SubmitBody, submitSchema } from "./submit-body.ts";

/** Task types by name, as submit sees them. */
export type KnownTypes = ReadonlyMap<string, KnownType>;

/** The type of a submitted task, and the version of its input. */
export interface Checked {
  type: KnownType;
  version: number;
}

/** @throws Problem `invalid_input` */
export const checkBody = (body: unknown): SubmitBody => parseInput(submitSchema, body);

/**
 * Checks a submit's input. An input that was stored with an earlier version of its type was checked then: the worker
 * brings it to the present version.
 * @param inputVersion The version of a stored input. Undefined: the input is a client's, of the present version.
 * @throws Problem `unknown_task_type`, `invalid_input`
 */
export function checkInput(types: KnownTypes, body: SubmitBody, inputVersion: number | undefined): Checked {
  const known = types.get(body.type);
  if (known !== undefined && inputVersion !== undefined && inputVersion < known.version) {
    return { type: known, version: inputVersion };
  }
  const type = checkTask(types, body);
  return { type, version: type.version };
}

/**
 * Returns the task's type, after it has checked the input against the type's schema.
 * @param within Path of the task in the request's body. Default: it is the body.
 * @throws Problem `unknown_task_type`, `invalid_input`
 */
export function checkTask(
  types: KnownTypes,
  task: { type: string; input?: unknown },
  within: readonly string[] = [],
): KnownType {
  const type = types.get(task.type);
  if (type === undefined) {
    throw unknownType(types, task.type, [...within, "type"]);
  }
  const { error } = checkNow(type.input, task.input);
  if (error !== undefined) throw inputProblem(error, task.input, [...within, "input"]);
  return type;
}

function unknownType(types: KnownTypes, name: string, path: readonly string[]): Problem {
  const nearest = nearestNames(name, types.keys()).map((one) => JSON.stringify(one));
  const meant = nearest.length === 0 ? "" : ` Did you mean ${nearest.join(" or ")}?`;
  const detail = `${path.join(".")}: no task type is named ${JSON.stringify(name)}.${meant} GET /types lists the task types.`;
  return new Problem("unknown_task_type", detail, {
    errors: [{ path: `/${path.join("/")}`, message: "no such task type" }],
  });
}
