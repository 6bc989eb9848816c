import { pathToFileURL } from "node:url";
import * as attempt from "../../src/core/attempt.ts";
import * as catalog from "../../src/core/catalog.ts";
import * as change from "../../src/core/change.ts";
import * as priority from "../../src/core/change-priority.ts";
import * as child from "../../src/core/child.ts";
import * as context from "../../src/core/context.ts";
import * as control from "../../src/core/control.ts";
import * as letters from "../../src/core/dead-letters/act-on-letter.ts";
import * as errors from "../../src/core/errors.ts";
import * as fire from "../../src/core/fire.ts";
import * as flowBook from "../../src/core/flow/flow-book.ts";
import * as manageFlow from "../../src/core/flow/manage-flow.ts";
import * as notify from "../../src/core/notify.ts";
import * as problem from "../../src/core/problem.ts";
import * as record from "../../src/core/record.ts";
import * as redrive from "../../src/core/redrive.ts";
import * as signal from "../../src/core/signal.ts";
import * as spawn from "../../src/core/spawn/spawn-child.ts";
import * as status from "../../src/core/status.ts";
import * as submit from "../../src/core/submit.ts";
import * as batch from "../../src/core/submit-batch.ts";
import * as unique from "../../src/core/submit-unique.ts";
import * as suspension from "../../src/core/suspension.ts";
import * as task from "../../src/core/task.ts";
import * as view from "../../src/core/view.ts";
import * as work from "../../src/core/work.ts";

/** The core's modules as the simulation uses them. */
export const realCore = {
  attempt,
  catalog,
  change,
  "change-priority": priority,
  child,
  context,
  control,
  "dead-letters/act-on-letter": letters,
  errors,
  fire,
  "flow/flow-book": flowBook,
  "flow/manage-flow": manageFlow,
  notify,
  problem,
  record,
  redrive,
  signal,
  "spawn/spawn-child": spawn,
  status,
  submit,
  "submit-batch": batch,
  suspension,
  "submit-unique": unique,
  task,
  view,
  work,
};

export type Core = typeof realCore;

/** Loads the same modules from another folder, such as one with a core that was broken on purpose. */
export async function loadCore(folder: string): Promise<Core> {
  const names = Object.keys(realCore);
  const modules = await Promise.all(names.map((name) => import(pathToFileURL(`${folder}/${name}.ts`).href)));
  return Object.fromEntries(names.map((name, index) => [name, modules[index]])) as Core;
}
