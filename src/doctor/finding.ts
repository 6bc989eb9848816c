import type { TaskType } from "../core/task.ts";
import type { Deployment, Resource } from "./deployment.ts";
import type { LiveAccount } from "./live.ts";

/**
 * How bad a finding is, the worst first.
 * - `critical`: tasks are lost, or never done.
 * - `high`: a foreseeable load or failure stops the pipeline, or somebody gets in who should not.
 * - `medium`: it works, and will surprise or cost more than it has to.
 * - `low`: worth knowing.
 */
export const severities = ["critical", "high", "medium", "low"] as const;
export type Severity = (typeof severities)[number];

/** What was found, and what to do about it. */
export interface Finding {
  severity: Severity;
  /** What it is about: a construct's path, `task <type>`, `schedule <name>`, or `account`. */
  subject: string;
  /** What is the matter, with what was found and what was expected. */
  found: string;
  fix: string;
  /** Where it is in the templates. Absent: it is in none. */
  at?: { stack: string; logicalId: string };
}

/** Everything that a review looks at. */
export interface Subject {
  deployment: Deployment;
  /** The task types that the workers know: those in `tasks/`. */
  types: readonly TaskType[];
  /** What the account says. Default: not looked at. */
  live?: LiveAccount;
}

/** One thing to look at. Pure. */
export interface Check {
  /** As in `docs/doctor.md`, in annotations and in `--skip`. */
  id: string;
  /** What is right when it finds nothing. */
  title: string;
  /** The severities that its findings can have. */
  severities: readonly Severity[];
  /** Whether it needs what the account says. Default: false. */
  live?: true;
  find(subject: Subject): readonly Finding[];
}

/** A finding about a resource of a template. */
export const about = (resource: Resource, finding: Omit<Finding, "subject" | "at">): Finding => ({
  subject: resource.name,
  ...finding,
  at: { stack: resource.stack.name, logicalId: resource.id },
});

/** Whether a severity is as bad as another, or worse. */
export const isAtLeast = (severity: Severity, least: Severity): boolean =>
  severities.indexOf(severity) <= severities.indexOf(least);
