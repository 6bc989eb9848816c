import type { DeadLetterView } from "../../core/control/find-dead-letters.ts";
import type { TaskType } from "../../core/task/task.ts";
import type { Deployment, Resource } from "./deployment.ts";
import type { LiveAccount } from "./live.ts";

/**
 * Severities of findings, worst first.
 * - `critical`: tasks are lost or never done.
 * - `high`: a foreseeable load or failure stops the pipeline, or a stranger gets access.
 * - `medium`: it works, but with surprises or avoidable cost.
 * - `low`: good to know.
 */
export const severities = ["critical", "high", "medium", "low"] as const;
export type Severity = (typeof severities)[number];

/** One problem, and its fix. */
export interface Finding {
  severity: Severity;
  /** The affected part: a construct's path, `task <type>`, `schedule <name>`, or `account`. */
  subject: string;
  /** Description of the problem, with the found and the expected values. */
  found: string;
  fix: string;
  /** The affected resource in the templates. Absent: the finding is not about a resource. */
  at?: { stack: string; logicalId: string };
}

/** The part of a task type that is data. Its schemas and functions are in the process that has loaded its code. */
export type ReviewedType = Pick<TaskType, "name" | "priority" | "runsOn" | "timeoutSeconds" | "maxAttempts"> & {
  readonly breaker: { readonly failures: number; readonly coolDownSeconds: number; readonly keyed?: true } | undefined;
  /** A limit that is no number is a function of the input. */
  readonly rateLimit: { readonly limit: unknown; readonly perSeconds: number } | undefined;
  /** Set when the type may spawn children. */
  readonly children: object | undefined;
};

/** Findings in the schemas and functions of task types, by check. */
export type CodeFindings = Readonly<Record<string, readonly Finding[]>>;

/** Input of the checks. */
export interface Subject {
  deployment: Deployment;
  /** Task types of the workers: those in `tasks/`, as data. */
  types: readonly ReviewedType[];
  /** The findings of `findingsOfCode` in these types. */
  findings: CodeFindings;
  /** The deployed resources. Default: not checked. */
  live?: LiveAccount;
  /** The newest dead letters of a tenant. Default: not checked. */
  failures?: readonly Failure[];
}

/** A dead letter. */
export type Failure = Pick<DeadLetterView, "type" | "error" | "error_type" | "error_kind" | "stack">;

/** One check. `find` is a pure function. */
export interface Check {
  /** Id in `docs/doctor.md`, in annotations and in `--skip`. */
  id: string;
  /** Statement that is true when the check finds nothing. */
  title: string;
  /** Possible severities of its findings. */
  severities: readonly Severity[];
  /** The part of the subject that the check needs. Default: none but the templates and the task types. */
  needs?: "live" | "failures";
  find(subject: Subject): readonly Finding[];
}

/** A check of the schemas and functions of task types. `findIn` is a pure function. */
export interface TypeCheck extends Omit<Check, "find" | "needs"> {
  findIn(types: readonly TaskType[]): readonly Finding[];
}

/** A finding without its subject. */
export type Fault = Pick<Finding, "severity" | "found" | "fix">;

/** Creates a finding about a resource of a template. */
export const about = (resource: Resource, fault: Fault): Finding => ({
  subject: resource.name,
  ...fault,
  at: { stack: resource.stack.name, logicalId: resource.id },
});

/** The findings about the task types that have a fault. */
export const aboutEach = <Type extends { name: string }>(
  types: readonly Type[],
  faultOf: (type: Type) => Fault | undefined | false,
): Finding[] =>
  types.flatMap((type) => {
    const fault = faultOf(type);
    return fault ? [{ subject: `task ${type.name}`, ...fault }] : [];
  });

/** True when a severity is at least as bad as another. */
export const isAtLeast = (severity: Severity, least: Severity): boolean =>
  severities.indexOf(severity) <= severities.indexOf(least);
