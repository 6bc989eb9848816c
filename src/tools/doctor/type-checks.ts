import * as z from "zod";
import { classify } from "../../core/model/classify.ts";
import { BusinessRuleViolation, type ErrorKind, InvalidInput, PermanentError } from "../../core/model/errors.ts";
import { largestFileBytes } from "../../core/model/stored-file.ts";
import { largestInputBytes } from "../../core/pipeline/send/large-input.ts";
import { decideRetry } from "../../core/task/retry.ts";
import type { TaskType } from "../../core/task/task.ts";
import { toCatalog } from "../../core/task/to-catalog.ts";
import { hasRefinement, inputParts } from "../../core/task/type-options.ts";
import { aboutEach, type Finding, type TypeCheck } from "./finding.ts";
import { isLoose, isUnbounded, partsOf, type Schema, takesAnything } from "./schema.ts";

/** Minimum number of retries for a judgement about their waits. */
const leastRetries = 2;

/** Random sources with the lowest and the highest result. */
const extremes = [() => 0, () => 1 - Number.EPSILON] as const;

export const backoff: TypeCheck = {
  id: "backoff",
  title: "Waits between attempts grow, and have a jitter",
  severities: ["medium"],
  findIn: (types) =>
    types.flatMap((type) =>
      ownPolicies(type).flatMap(([failures, kind]): Finding[] => {
        const fault = backoffFault(type, kind);
        if (fault === undefined) return [];
        return [
          { severity: "medium", subject: `task ${type.name}`, found: `After ${failures}, ${fault}.`, fix: growing },
        ];
      }),
    ),
};

const growing =
  "Remove retry to use the default waits, or set baseSeconds or growing waitsSeconds, and a jitter other than `none`.";

/** Kinds of failures to check: each kind that the type's retry policy names, and `transient` for all others. */
const ownPolicies = ({ retry }: TaskType): [failures: string, kind: ErrorKind][] => [
  ["failures", "transient"],
  ...(Object.keys(retry.kinds ?? {}) as ErrorKind[])
    .filter((kind) => kind !== "transient")
    .map((kind): [string, ErrorKind] => [`failures of kind ${kind}`, kind]),
];

/** Describes a fault of the waits after failures of one kind. Undefined: no fault. */
function backoffFault(type: TaskType, kind: ErrorKind): string | undefined {
  const [shortest, longest] = extremes.map((random) => waitsOf(type, kind, random));
  if (shortest === undefined || longest === undefined || shortest.length < leastRetries) return undefined;
  if (new Set(shortest).size === 1) {
    return `each wait is ${shortest[0]} s: a service that is down gets retries at a constant rate`;
  }
  const isSpread = shortest.some((wait, at) => wait !== longest[at]);
  return isSpread ? undefined : "waits have no jitter: tasks that failed together are retried together";
}

/** Waits after repeated failures of one kind, until the last attempt. */
function waitsOf(type: TaskType, kind: ErrorKind, random: () => number): number[] {
  const waits: number[] = [];
  for (let attempt = 1; attempt < type.maxAttempts; attempt++) {
    const failure = { kind, attempt, maxAttempts: type.maxAttempts, earlierOfKind: attempt - 1 };
    const decision = decideRetry(type.retry, failure, random);
    if (!decision.retry) break;
    waits.push(decision.waitSeconds);
  }
  return waits;
}

function isRetried(type: TaskType, kind: ErrorKind): boolean {
  const failure = { kind, attempt: 1, maxAttempts: Math.max(2, type.maxAttempts), earlierOfKind: 0 };
  return decideRetry(type.retry, failure, () => 0).retry;
}

/** Examples of errors that a retry cannot fix. */
const finalErrors: readonly [name: string, error: unknown][] = [
  ["an input that does not match its schema", new InvalidInput("example")],
  ["a ZodError", new z.ZodError([])],
  ["an HTTP 400", httpError(400)],
  ["an HTTP 422", httpError(422)],
  ["PermanentError", new PermanentError("example")],
  ["BusinessRuleViolation", new BusinessRuleViolation("example")],
];

function httpError(status: number): Error {
  return Object.assign(new Error(`HTTP ${status}`), { status });
}

export const retriesFinal: TypeCheck = {
  id: "retries-final",
  title: "Errors that a retry cannot fix are not retried",
  severities: ["high"],
  findIn: (types) =>
    aboutEach(types, (type) => {
      const retried = finalErrors.filter(([, error]) => isRetried(type, classify(error, type.classify, 0).kind));
      if (retried.length === 0) return;
      return {
        severity: "high",
        found: `It retries ${retried.map(([name]) => name).join(", ")}. These attempts cannot succeed, and delay the dead letter by hours.`,
        fix: "Remove the kinds validation, business_rule and permanent from retry.kinds, and let classify return undefined for unknown errors.",
      };
    }),
};

export const inputSchema: TypeCheck = {
  id: "input-schema",
  title: "Each type has an input schema",
  severities: ["medium", "low"],
  findIn: (types) =>
    aboutEach(types, (type) => {
      const root = schemaOf(type);
      if (takesAnything(root)) return noSchema;
      const open = [...partsOf(root)].filter(({ schema }) => takesAnything(schema) || isLoose(schema));
      if (open.length === 0) return;
      return {
        severity: "low",
        found: `Its input accepts any value at ${listed(open)}.`,
        fix: "Add a schema there. Only the worker checks rules that JSON Schema cannot express.",
      };
    }),
};

const noSchema = {
  severity: "medium",
  found: "Its input may be anything: a wrong input gets 202, fails in the handler and becomes a dead letter.",
  fix: "Set an input schema: z.strictObject({ ... }).",
} as const;

export const payloadSize: TypeCheck = {
  id: "payload-size",
  title: "Inputs have a maximum size",
  severities: ["low"],
  findIn: (types) =>
    aboutEach(types, (type) => {
      const open = [...partsOf(schemaOf(type))].filter(({ schema }) => isUnbounded(schema));
      if (open.length === 0) return;
      return {
        severity: "low",
        found: `No maximum length is set for ${listed(open)}; an input has at most ${largestInputBytes / 1024} KiB.`,
        fix: "Add .max() to strings and arrays, so that clients see the maximum in the schema.",
      };
    }),
};

export const refinements: TypeCheck = {
  id: "refinements",
  title: "Submit checks all rules of inputs",
  severities: ["low"],
  findIn: (types) =>
    aboutEach(types, (type) => {
      const refined = [...inputParts(type.input)].filter(hasRefinement);
      if (refined.length === 0) return;
      return {
        severity: "low",
        found: `Only the worker checks the refinement of ${listed(refined)}: an input that it refuses gets 202, and its task fails with validation before the handler is called.`,
        fix: "Where a format, range, pattern or enum says the same, use it in place of the refinement.",
      };
    }),
};

/**
 * Bytes of a file that a worker reads in a second. An assumption: AWS documents no figure for S3 and one Lambda
 * function.
 */
const readBytesPerSecond = 50_000_000;

export const fileSize: TypeCheck = {
  id: "file-size",
  title: "Handlers can read their files within the time-out",
  severities: ["low"],
  findIn: (types) =>
    aboutEach(types, (type) => {
      const sizes = Object.values(type.files).map(({ maxBytes = largestFileBytes }) => maxBytes);
      const bytes = sizes.reduce((sum, size) => sum + size, 0);
      const seconds = Math.ceil(bytes / readBytesPerSecond);
      if (seconds <= type.timeoutSeconds) return;
      return {
        severity: "low",
        found: `Its files may have ${Math.round(bytes / 1e6)} MB: reading them takes ${seconds} s at an assumed 50 MB/s, and its time-out is ${type.timeoutSeconds} s.`,
        fix: "Set a smaller maxBytes for its files, or a longer timeoutSeconds.",
      };
    }),
};

const schemaOf = (type: TaskType): Schema => toCatalog([type])[0]?.input_schema ?? {};

/** Lists up to five paths, and the number of the others. */
function listed(parts: readonly { path: string }[]): string {
  const names = [...new Set(parts.map(({ path }) => path || "the top level"))];
  const shown = names.slice(0, 5).join(", ");
  return names.length > 5 ? `${shown} and ${names.length - 5} more` : shown;
}

export const description: TypeCheck = {
  id: "description",
  title: "Each type has a description",
  severities: ["low"],
  findIn: (types) =>
    aboutEach(
      types.filter((type) => type.description.trim() === ""),
      () => ({
        severity: "low",
        found: "It has no description in the list of types.",
        fix: "Add a description of one sentence.",
      }),
    ),
};

export const inputSteps: TypeCheck = {
  id: "input-steps",
  title: "Waiting inputs of earlier versions are converted",
  severities: ["low"],
  findIn: (types) =>
    aboutEach(
      types.filter((type) => type.version > 1 && Object.keys(type.upcast).length === 0),
      (type) => ({
        severity: "low",
        found: `It has version ${type.version} but no upcast: each waiting task of an earlier version becomes a dead letter.`,
        fix: `Set upcast: { ${type.version - 1}: (input) => ... }, unless no task of that version can still be waiting.`,
      }),
    ),
};

export const typeChecks: readonly TypeCheck[] = [
  retriesFinal,
  backoff,
  inputSchema,
  refinements,
  inputSteps,
  payloadSize,
  fileSize,
  description,
];
