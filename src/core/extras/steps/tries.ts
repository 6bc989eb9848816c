import { inShort, isA } from "../../../util/foreign-value.ts";
import { type Classified, classify, isRuled, withPlainType } from "../../model/classify.ts";
import { PermanentError } from "../../model/errors.ts";
import { iso } from "../../model/record.ts";
import { isOwnBug } from "../../model/stack.ts";
import type { StepEntry } from "../../ports/steps.ts";
import { asOwnWork, mustBeOutside } from "../../task/ambient.ts";
import { keptIn, mustBeKept } from "../../task/json-value.ts";
import { thrownBy } from "../../task/own-fault.ts";
import { decideRetry, type RetryPolicy } from "../../task/retry.ts";
import { type Call, inWords, type StepAttempt, type StepOptions, tryName } from "../../task/step-calls.ts";
import { StepFailed, StepTimedOut, type StepTools, type Tries } from "./step-tools.ts";

/** The most tries of a step in a round, and the longest times, in seconds. */
const maxTries = 20;
const longestWaitSeconds = 2_592_000;
const longestTrySeconds = 43_200;

/** Tries of a step that says only how long it waits. */
const commonTries = 5;

/** The code of a step. */
interface Run {
  run: (attempt: StepAttempt) => Promise<unknown>;
  /** The attempt's. */
  signal: AbortSignal;
}

type Trying = Run & Tries;

/** @throws PermanentError for options that no step can have */
function checkedOptions(given: unknown): StepOptions {
  if (typeof given !== "object" || given === null) throw wrong("options: expected an object", given);
  const { maxAttempts, retry, timeoutSeconds, ...others } = given as StepOptions;
  const [other] = Object.keys(others);
  if (other !== undefined) throw wrong(`there is no option ${JSON.stringify(other)}`);
  mustBeIn("maxAttempts", maxAttempts, 1, maxTries);
  if (maxAttempts !== undefined && !Number.isInteger(maxAttempts))
    throw wrong("maxAttempts: whole number", maxAttempts);
  mustBeIn("timeoutSeconds", timeoutSeconds, 0.001, longestTrySeconds);
  if (retry === undefined) return given;
  if (typeof retry !== "object" || retry === null) throw wrong("retry: expected an object", retry);
  const { baseSeconds, factor, maxSeconds, ...more } = retry;
  const [surplus] = Object.keys(more);
  if (surplus !== undefined) throw wrong(`retry: there is no option ${JSON.stringify(surplus)}`);
  mustBeIn("retry.baseSeconds", baseSeconds, 0, longestWaitSeconds);
  mustBeIn("retry.factor", factor, 1, 100);
  mustBeIn("retry.maxSeconds", maxSeconds, 0, longestWaitSeconds);
  return given;
}

function mustBeIn(name: string, value: unknown, min: number, max: number): void {
  if (value === undefined || (typeof value === "number" && value >= min && value <= max)) return;
  throw wrong(`${name}: expected a number from ${min} to ${max}`, value);
}

const wrong = (what: string, ...got: unknown[]) =>
  new PermanentError(`task.step: ${what}${got.map((one) => `, got ${inShort(one)}`).join("")}`);

/** True for a step whose failures are its own, and not the attempt's. */
const hasTries = ({ maxAttempts, retry }: StepOptions): boolean => maxAttempts !== undefined || retry !== undefined;

/**
 * Runs a step that has options, or that had them in an earlier attempt.
 * @throws PermanentError for options that no step can have; StepFailed after the last of its own tries
 */
export async function tried(
  steps: StepTools,
  call: Call,
  { run, signal, options, ...tools }: Run & Partial<Tries>,
): Promise<unknown> {
  const checked = options === undefined ? {} : checkedOptions(options);
  const { log, stackOf } = tools;
  if (hasTries(checked) && log !== undefined && stackOf !== undefined) {
    return runTries(steps, call, { run, signal, options: checked, log, stackOf });
  }
  const done = (await triesOf(steps, call)).find(({ error }) => error === undefined);
  if (done !== undefined) return outcome(done, call);
  return steps.plainStep(call, () => inTime(steps, { run, signal, options: checked }, 1));
}

/**
 * Runs a step whose tries are its own. Each try has one entry, its end, which is stored once: of two attempts that run
 * the same try, both go on with the first end. Between two tries the attempt is suspended. A later
 * round has new tries.
 * @throws StepFailed after the last try
 */
async function runTries(steps: StepTools, call: Call, trying: Trying): Promise<unknown> {
  mustBeOutside("task.step with tries of its own");
  const { round } = steps.record;
  let stack: string | undefined;
  for (;;) {
    const tries = await triesOf(steps, call);
    const ofRound = tries.filter((one) => one.round === round);
    const last = tries.at(-1);
    if (last !== undefined && last.error === undefined) return outcome(last, call);
    if (last !== undefined && last.round === round) {
      if (last.until === undefined) throw failedFor(steps.ownName(call), ofRound.length, last, stack);
      await waitFor(steps, call, Date.parse(last.until), ofRound.length + 1);
    }
    const end = await oneTry(steps, call, trying, { tries, ofRound });
    const stored = await steps.add(end.entry);
    if (stored.error === undefined) return outcome(stored, call);
    stack = stored.error === end.entry.error ? end.stack : undefined;
  }
}

const outcome = (stored: StepEntry, call: Call): unknown => mustBeKept(keptIn(stored), inWords(call));

/** The ends of the tries of a step over all rounds, in their order. */
async function triesOf(steps: StepTools, { name }: Call): Promise<StepEntry[]> {
  const entries = await steps.stored();
  const tries: StepEntry[] = [];
  for (;;) {
    const next = entries.get(`try:${tryName(name, tries.length + 1)}`);
    if (next === undefined) return tries;
    tries.push(next);
  }
}

async function waitFor(steps: StepTools, call: Call, untilMs: number, attempt: number): Promise<void> {
  const { clock } = steps.ports;
  if (clock.now() < untilMs) await steps.rest.pause({ untilMs, step: { name: steps.ownName(call), attempt } });
}

/** The tries before: of all rounds, and of this one. */
interface Before {
  tries: readonly StepEntry[];
  ofRound: readonly StepEntry[];
}

/** The end of a try. */
interface End {
  entry: StepEntry;
  /** Places of the error. */
  stack?: string | undefined;
}

/** Runs the step's code once. */
async function oneTry(steps: StepTools, call: Call, trying: Trying, before: Before): Promise<End> {
  const { order, sequential } = call;
  const first = before.tries.length === 0;
  const entry: StepEntry = {
    kind: "try",
    name: tryName(call.name, before.tries.length + 1),
    // The order of the calls is compared by the first try.
    ...(first && { order, ...(sequential && { sequential }) }),
  };
  try {
    const value = await steps.effect(call, () => inTime(steps, trying, before.ofRound.length + 1));
    return { entry: { ...entry, ...steps.kept(value, inWords(call)) } };
  } catch (error) {
    // The attempt ends, and what its code throws then says nothing about the step.
    const thrown = trying.signal.aborted ? undefined : thrownBy(error);
    if (thrown === undefined && !(error instanceof StepTimedOut)) throw error;
    const own = thrown === undefined ? error : thrown.error;
    const stack = isA(own, Error) && typeof own.stack === "string" ? own.stack : undefined;
    return { entry: { ...entry, ...(await failed(steps, call, trying, before, own)) }, stack };
  }
}

/** The stored fields of a try that failed. Without `until` it was the last try of its round. */
async function failed(
  steps: StepTools,
  call: Call,
  { options, log, stackOf }: Trying,
  { ofRound }: Before,
  error: unknown,
): Promise<Partial<StepEntry>> {
  const { type, record, ports } = steps;
  const now = ports.clock.now();
  const rules = type.classify ?? [];
  const failure = type.sensitive ? withPlainType(classify(error, rules, now)) : classify(error, rules, now);
  const attempt = ofRound.length + 1;
  const isBug = failure.kind === "transient" && !isRuled(error, rules) && (await isOwnBug(error, stackOf));
  const decision = decideRetry(
    policyOf(type.retry, options),
    {
      kind: failure.kind,
      attempt,
      maxAttempts: options.maxAttempts ?? commonTries,
      earlierOfKind: ofRound.filter(({ error_kind }) => error_kind === failure.kind).length,
      retryAfterSeconds: failure.retryAfterSeconds,
      earlierOfBug: isBug ? ofRound.filter(({ error_type }) => error_type === failure.type).length : undefined,
    },
    ports.random,
    ports.timeScale,
  );
  const until = decision.retry ? iso(now + decision.waitSeconds * 1000) : undefined;
  const what = { step: steps.ownName(call), step_attempt: attempt, error: failure.message, error_kind: failure.kind };
  if (until === undefined) log.warn("a step failed for good", what);
  else log.warn("a step failed, and is tried again", { ...what, next_attempt_at: until });
  return { round: record.round, ...errorOf(failure), ...(until !== undefined && { until }) };
}

const errorOf = ({ message, type, kind }: Classified) => ({ error: message, error_type: type, error_kind: kind });

/** The step's own waits take the place of the type's common ones. What the type says of a kind holds for its steps. */
function policyOf(type: RetryPolicy = {}, { retry }: StepOptions): RetryPolicy {
  if (retry === undefined) return type;
  const { kinds, jitter, jitterRatio } = type;
  const { baseSeconds = 30, factor = 2, maxSeconds } = retry;
  return {
    ...{ baseSeconds, factor },
    ...(maxSeconds !== undefined && { capSeconds: maxSeconds }),
    ...(kinds && { kinds }),
    ...(jitter && { jitter }),
    ...(jitterRatio !== undefined && { jitterRatio }),
  };
}

/** @param stack Places of the last error, where it was thrown in this attempt. */
function failedFor(step: string, attempts: number, last: StepEntry, stack: string | undefined): StepFailed {
  const { error = "", error_type = "Error", error_kind = "transient" } = last;
  const failure = new StepFailed(step, attempts, { message: error, name: error_type, kind: error_kind });
  if (stack !== undefined) failure.cause.stack = stack;
  return failure;
}

/** Runs a step's code for as long as it may take. */
async function inTime(
  { ports }: StepTools,
  { options: { timeoutSeconds }, run, signal }: Run & Pick<Tries, "options">,
  attempt: number,
): Promise<unknown> {
  if (timeoutSeconds === undefined) return run({ attempt, signal });
  const abort = new AbortController();
  const error = new StepTimedOut(`attempt ${attempt} of the step took longer than ${timeoutSeconds} s`);
  let stop = () => {};
  const over = new Promise<never>((_, reject) => {
    stop = asOwnWork(() =>
      ports.clock.after(timeoutSeconds * 1000, () => {
        reject(error);
        abort.abort(error);
      }),
    );
  });
  try {
    return await Promise.race([run({ attempt, signal: AbortSignal.any([signal, abort.signal]) }), over]);
  } finally {
    stop();
  }
}
