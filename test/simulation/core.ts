import { pathToFileURL } from "node:url";
import * as letters from "../../src/core/control/act-on-task.ts";
import * as cancelChildren from "../../src/core/control/cancel-others.ts";
import * as supersede from "../../src/core/control/cancel-others.ts";
import * as priority from "../../src/core/control/change-waiting.ts";
import * as reschedule from "../../src/core/control/change-waiting.ts";
import * as control from "../../src/core/control/control.ts";
import * as sweep from "../../src/core/control/sweep.ts";
import * as child from "../../src/core/extras/children/child.ts";
import * as spawn from "../../src/core/extras/children/child.ts";
import * as lateExtras from "../../src/core/extras/late-code.ts";
import * as flowBook from "../../src/core/extras/limits/flow-book.ts";
import * as limits from "../../src/core/extras/limits/index.ts";
import * as manageFlow from "../../src/core/extras/limits/manage-flow.ts";
import * as extras from "../../src/core/extras/list.ts";
import * as signal from "../../src/core/extras/steps/signal.ts";
import * as tries from "../../src/core/extras/steps/tries.ts";
import * as unique from "../../src/core/extras/unique/submit-unique.ts";
import * as change from "../../src/core/model/change.ts";
import * as errors from "../../src/core/model/errors.ts";
import * as problem from "../../src/core/model/problem.ts";
import * as record from "../../src/core/model/record.ts";
import * as suspension from "../../src/core/model/suspension.ts";
import * as status from "../../src/core/model/words.ts";
import * as notify from "../../src/core/notify/notify.ts";
import * as requestSweep from "../../src/core/pipeline/end/request-own-task.ts";
import * as view from "../../src/core/pipeline/end/view.ts";
import * as submit from "../../src/core/pipeline/submit/submit.ts";
import * as batch from "../../src/core/pipeline/submit/submit-batch.ts";
import * as checks from "../../src/core/pipeline/submit/usual-submit.ts";
import * as attempt from "../../src/core/pipeline/work/attempt.ts";
import * as late from "../../src/core/pipeline/work/late-code.ts";
import * as redrive from "../../src/core/pipeline/work/redrive.ts";
import * as drain from "../../src/core/pipeline/work/work.ts";
import * as work from "../../src/core/pipeline/work/work.ts";
import * as fire from "../../src/core/schedules/fire.ts";
import * as fireTask from "../../src/core/schedules/fire-task.ts";
import * as reconcile from "../../src/core/schedules/reconcile.ts";
import * as ambient from "../../src/core/task/ambient.ts";
import * as catalog from "../../src/core/task/catalog.ts";
import * as task from "../../src/core/task/task.ts";

/** The core's modules as the simulation uses them. */
export const realCore = {
  attempt,
  cancelChildren,
  catalog,
  change,
  changePriority: priority,
  checks,
  child,
  ambient,
  control,
  drain,
  actOnDeadLetter: letters,
  errors,
  extras,
  fire,
  fireTask,
  flowBook,
  late,
  lateExtras,
  limits,
  manageFlow,
  notify,
  problem,
  record,
  redrive,
  requestSweep,
  reconcile,
  reschedule,
  signal,
  spawnChild: spawn,
  status,
  submit,
  submitBatch: batch,
  suspension,
  submitUnique: unique,
  supersede,
  sweep,
  task,
  tries,
  view,
  work,
};

export type Core = typeof realCore;

// Loaded before it is used: the time of a world does not wait for code.
await limits.loadLimits();
await checks.loadSchemas();

const paths: Record<keyof Core, string> = {
  attempt: "pipeline/work/attempt.ts",
  cancelChildren: "control/cancel-others.ts",
  catalog: "task/catalog.ts",
  change: "model/change.ts",
  changePriority: "control/change-waiting.ts",
  child: "extras/children/child.ts",
  ambient: "task/ambient.ts",
  checks: "pipeline/submit/usual-submit.ts",
  control: "control/control.ts",
  actOnDeadLetter: "control/act-on-task.ts",
  drain: "pipeline/work/work.ts",
  errors: "model/errors.ts",
  extras: "extras/list.ts",
  fire: "schedules/fire.ts",
  fireTask: "schedules/fire-task.ts",
  limits: "extras/limits/index.ts",
  flowBook: "extras/limits/flow-book.ts",
  late: "pipeline/work/late-code.ts",
  lateExtras: "extras/late-code.ts",
  manageFlow: "extras/limits/manage-flow.ts",
  notify: "notify/notify.ts",
  problem: "model/problem.ts",
  record: "model/record.ts",
  redrive: "pipeline/work/redrive.ts",
  requestSweep: "pipeline/end/request-own-task.ts",
  reschedule: "control/change-waiting.ts",
  reconcile: "schedules/reconcile.ts",
  signal: "extras/steps/signal.ts",
  spawnChild: "extras/children/child.ts",
  status: "model/words.ts",
  submit: "pipeline/submit/submit.ts",
  submitBatch: "pipeline/submit/submit-batch.ts",
  suspension: "model/suspension.ts",
  submitUnique: "extras/unique/submit-unique.ts",
  supersede: "control/cancel-others.ts",
  sweep: "control/sweep.ts",
  task: "task/task.ts",
  tries: "extras/steps/tries.ts",
  view: "pipeline/end/view.ts",
  work: "pipeline/work/work.ts",
};

/** Loads the same modules from another folder, such as one with a core that was broken on purpose. */
export async function loadCore(folder: string): Promise<Core> {
  const load = async ([name, path]: [string, string]) => [name, await import(pathToFileURL(`${folder}/${path}`).href)];
  const core = Object.fromEntries(await Promise.all(Object.entries(paths).map(load))) as Core;
  await core.limits.loadLimits();
  await core.checks.loadSchemas();
  return core;
}
