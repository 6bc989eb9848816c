import type { AppSchedule } from "../../core/schedules/app-schedule.ts";
import type { AppTrigger } from "../../core/schedules/trigger.ts";
import type { Catalog } from "../../core/task/catalog.ts";
import type { TaskEnvironment } from "../../core/task/environment.ts";
import { toCatalog } from "../../core/task/to-catalog.ts";
import type { CodeFindings, ReviewedType } from "../../tools/doctor/finding.ts";
import { type ConstantKey, onceFindings } from "../../tools/doctor/once-check.ts";
import { findingsOfCode, reviewedType } from "../../tools/doctor/reviewed-type.ts";
import type { App } from "../project/task-code.ts";

/** A project's task types, schedules, triggers and environment as data, without its code. */
export interface DescribedApp {
  readonly catalog: Catalog;
  readonly schedules: readonly AppSchedule[];
  readonly triggers: readonly AppTrigger[];
  readonly environment: TaskEnvironment;
  /** Names of the files that were loaded. */
  readonly files: readonly string[];
  /** Facts that the review of an app reads of its types. */
  readonly types: readonly ReviewedType[];
  /** Findings of the review in the types' schemas and functions. */
  readonly findings: CodeFindings;
}

/**
 * Describes an app.
 * @param files Names of its files.
 */
export const described = (
  { types, schedules, triggers, environment }: App,
  files: readonly string[] = [],
): DescribedApp => ({
  catalog: toCatalog(types),
  schedules,
  triggers,
  environment,
  files,
  types: types.map(reviewedType),
  findings: findingsOfCode(types),
});

/** Adds the findings of the review in the project's sources, which its loaded code does not show. */
export const withOnceKeys = (app: DescribedApp, keys: readonly ConstantKey[]): DescribedApp => ({
  ...app,
  findings: { ...app.findings, ...onceFindings(keys) },
});
