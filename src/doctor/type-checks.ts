import * as z from "zod";
import { toCatalog } from "../core/catalog.ts";
import { classify } from "../core/classify.ts";
import { largestEnvelopeBytes } from "../core/envelope.ts";
import { BusinessRuleViolation, type ErrorKind, InvalidInput, PermanentError } from "../core/errors.ts";
import { decideRetry } from "../core/retry.ts";
import type { TaskType } from "../core/task.ts";
import type { Check, Finding } from "./finding.ts";
import { isLoose, isUnbounded, partsOf, type Schema, takesAnything } from "./schema.ts";

/** Retries from which on equal waits are a pattern. */
const several = 2;

/** A random number of each end. */
const ends = [() => 0, () => 1 - Number.EPSILON] as const;

export const backoff: Check = {
  id: "backoff",
  title: "Waits between attempts grow, and are spread",
  severities: ["medium"],
  find: ({ types }) =>
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
  "Leave retry away for the common waits, or give it baseSeconds or growing waitsSeconds, and a jitter other than `none`.";

/** The kinds of failures for which the type's own words count: all that it does not name, and each that it names. */
const ownPolicies = ({ retry }: TaskType): [failures: string, kind: ErrorKind][] => [
  ["failures", "transient"],
  ...(Object.keys(retry.kinds ?? {}) as ErrorKind[])
    .filter((kind) => kind !== "transient")
    .map((kind): [string, ErrorKind] => [`failures of kind ${kind}`, kind]),
];

/** What is wrong with the waits after failures of one kind; undefined: nothing. */
function backoffFault(type: TaskType, kind: ErrorKind): string | undefined {
  const [shortest, longest] = ends.map((random) => waitsOf(type, kind, random));
  if (shortest === undefined || longest === undefined || shortest.length < several) return undefined;
  if (new Set(shortest).size === 1) {
    return `each wait is ${shortest[0]} s: a far side that is down is asked at the same pace all the time`;
  }
  const isSpread = shortest.some((wait, at) => wait !== longest[at]);
  return isSpread ? undefined : "waits are not spread: all tasks that failed together come back together";
}

/** The waits after failures of one kind, until the type gives up. */
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

/** Errors that no further attempt can mend, each as it is met. */
const finalErrors: readonly [name: string, error: unknown][] = [
  ["an input that does not match its schema", new InvalidInput("a review's example")],
  ["a ZodError", new z.ZodError([])],
  ["an HTTP 400", httpError(400)],
  ["an HTTP 422", httpError(422)],
  ["PermanentError", new PermanentError("a review's example")],
  ["BusinessRuleViolation", new BusinessRuleViolation("a review's example")],
];

function httpError(status: number): Error {
  return Object.assign(new Error(`HTTP ${status}`), { status });
}

export const retriesFinal: Check = {
  id: "retries-final",
  title: "Errors that no further attempt can mend are not retried",
  severities: ["high"],
  find: ({ types }) =>
    types.flatMap((type): Finding[] => {
      const retried = finalErrors.filter(([, error]) => isRetried(type, classify(error, type.classify, 0).kind));
      if (retried.length === 0) return [];
      return [
        {
          severity: "high",
          subject: `task ${type.name}`,
          found: `It retries ${retried.map(([name]) => name).join(", ")}: attempts that cannot succeed, and a dead letter that comes hours late.`,
          fix: "Leave kinds validation, business_rule and permanent out of retry.kinds, and let classify give undefined for errors that it does not know.",
        },
      ];
    }),
};

export const inputSchema: Check = {
  id: "input-schema",
  title: "Each type says what its input looks like",
  severities: ["medium", "low"],
  find: ({ types }) =>
    types.flatMap((type): Finding[] => {
      const root = schemaOf(type);
      if (takesAnything(root)) return [{ ...noSchema, subject: `task ${type.name}` }];
      const open = [...partsOf(root)].filter(({ schema }) => takesAnything(schema) || isLoose(schema));
      if (open.length === 0) return [];
      return [
        {
          severity: "low",
          subject: `task ${type.name}`,
          found: `Its input takes anything at ${listed(open)}.`,
          fix: "Say what is expected there; what JSON Schema cannot say is checked by the worker only.",
        },
      ];
    }),
};

const noSchema = {
  severity: "medium",
  found: "Its input may be anything: mistakes are found by the handler, after 202, as dead letters.",
  fix: "Give it an input schema: z.strictObject({ ... }).",
} as const;

export const payloadSize: Check = {
  id: "payload-size",
  title: "Inputs have a largest size",
  severities: ["low"],
  find: ({ types }) =>
    types.flatMap((type): Finding[] => {
      const open = [...partsOf(schemaOf(type))].filter(({ schema }) => isUnbounded(schema));
      if (open.length === 0) return [];
      return [
        {
          severity: "low",
          subject: `task ${type.name}`,
          found: `Nothing bounds ${listed(open)}; a message holds ${largestEnvelopeBytes / 1024} KiB in all.`,
          fix: "Add .max() to texts and arrays, so that clients learn the bound from the schema.",
        },
      ];
    }),
};

const schemaOf = (type: TaskType): Schema => toCatalog([type])[0]?.input_schema ?? {};

/** Some paths, and how many more there are. */
function listed(parts: readonly { path: string }[]): string {
  const names = [...new Set(parts.map(({ path }) => path || "the top"))];
  const shown = names.slice(0, 5).join(", ");
  return names.length > 5 ? `${shown} and ${names.length - 5} more` : shown;
}

export const description: Check = {
  id: "description",
  title: "Each type has a description",
  severities: ["low"],
  find: ({ types }) =>
    types
      .filter((type) => type.description.trim() === "")
      .map((type) => ({
        severity: "low",
        subject: `task ${type.name}`,
        found: "It has no description: whoever lists the types must guess.",
        fix: "Add one sentence as its description.",
      })),
};

export const inputSteps: Check = {
  id: "input-steps",
  title: "What waits in an earlier version is brought forward",
  severities: ["low"],
  find: ({ types }) =>
    types
      .filter((type) => type.version > 1 && Object.keys(type.upcast).length === 0)
      .map((type) => ({
        severity: "low",
        subject: `task ${type.name}`,
        found: `It is at version ${type.version}, and no step leads there: each waiting task of an earlier version becomes a dead letter.`,
        fix: `Give it upcast: { ${type.version - 1}: (input) => ... }, unless nothing can wait in that version any more.`,
      })),
};

export const typeChecks: readonly Check[] = [retriesFinal, backoff, inputSchema, inputSteps, payloadSize, description];
