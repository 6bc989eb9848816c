import {
  longestWaitSeconds,
  type Release,
  type TaskEndPorts,
  TaskEnds,
  type Waits,
} from "../../core/control/task-ends.ts";
import { fieldProblem } from "../../core/model/field-problem.ts";
import { noSuchTask } from "../../core/model/problem.ts";
import { hasEnded, isKept, type TaskRecord } from "../../core/model/record.ts";
import type { Log } from "../../core/ports/tasks.ts";
import type { ApiResponse, Call } from "./call.ts";
import { preferredWait } from "./prefer.ts";

export interface WaitPorts extends TaskEndPorts {
  /** Places of requests that wait. */
  waits: Waits;
  log: Log;
}

/** Time to take a permit, in milliseconds. A request without a permit by then is answered immediately. */
const admitMs = 2_500;

/** Time for the answer after the wait, in milliseconds: with the wait it fits into the time-out of the function. */
const answerMs = 4_000;

/** The wait that a request asks for. */
interface Asked {
  seconds: number;
  /** True when the header `Prefer` asks for it, which the answer confirms. */
  isPreference: boolean;
}

/**
 * Reads `?wait=`, or else the preference `wait`. Undefined: the request does not wait.
 * @throws Problem `invalid_input` for a query that is not a whole number from 1 to 20
 */
export function waitOf(call: Call): Asked | undefined {
  const query = call.req.query.wait;
  if (query !== undefined) {
    if (/^(?:[1-9]|1\d|20)$/.test(query)) return { seconds: Number(query), isPreference: false };
    throw fieldProblem("wait", `expected a whole number from 1 to ${longestWaitSeconds}`);
  }
  const preferred = preferredWait(call.req.header("prefer") ?? "");
  return preferred === undefined ? undefined : { seconds: Math.min(preferred, longestWaitSeconds), isPreference: true };
}

/** A request for one task. */
export interface TaskRequest {
  call: Call;
  /** Reads the task. */
  find: () => Promise<TaskRecord>;
  answer: (record: TaskRecord) => Promise<ApiResponse>;
}

/**
 * Returns a function that answers a request when its task has ended, or when the time for which it asks to wait is
 * over.
 */
export function createWaiting(ports: WaitPorts): (request: TaskRequest) => Promise<ApiResponse> {
  const ends = new TaskEnds(ports);
  const untilEnd = async (record: TaskRecord, untilMs: number): Promise<() => Promise<TaskRecord>> => {
    const seen = await ends.wait(record, untilMs);
    return async () => existing(ports, seen === undefined ? await read(ports, record) : seen.record);
  };
  return async ({ call, find, answer }) => {
    const startedMs = ports.clock.now();
    const record = await find();
    const asked = waitOf(call);
    if (asked === undefined) return answer(record);
    const confirmed = (of: TaskRecord) => {
      if (asked.isPreference) call.header("preference-applied", `wait=${asked.seconds}`);
      return answer(of);
    };
    if (hasEnded(record, ports.clock.now())) return confirmed(record);
    const release = await admitted(ports, record.tenant_id);
    if (release === undefined) return answer(record);
    const present = await untilEnd(record, startedMs + asked.seconds * 1000);
    return ports.callTime.within(answerMs, async () => {
      const released = givenBack(ports, release);
      try {
        return await confirmed(await present());
      } finally {
        // After the answer, Lambda can freeze the process.
        await released;
      }
    });
  };
}

/** Acquires a permit for a request. Undefined: none is free, or the table does not answer in time. */
async function admitted({ waits, callTime, clock, log }: WaitPorts, tenantId: string): Promise<Release | undefined> {
  try {
    return await callTime.within(admitMs, () => waits.admit(tenantId, clock.now()));
  } catch (error) {
    log.warn("could not take a place for a request that waits; it is answered immediately", { error: String(error) });
    return undefined;
  }
}

/**
 * Returns a permit. Never rejects: a permit that could not be given back is free again when its intervals have ended.
 */
async function givenBack({ log }: WaitPorts, release: Release): Promise<void> {
  try {
    await release();
  } catch (error) {
    log.warn("could not give back the place of a request that waited", { error: String(error) });
  }
}

/** Reads the task consistently. */
const read = async ({ records }: WaitPorts, key: TaskRecord): Promise<TaskRecord | undefined> =>
  (await records.getMany([key]))[0];

/** @throws Problem `not_found` for a task that was deleted during the wait */
function existing({ clock }: WaitPorts, record: TaskRecord | undefined): TaskRecord {
  if (record === undefined || !isKept(record, clock.now())) throw noSuchTask();
  return record;
}
