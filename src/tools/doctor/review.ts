import { bucketChecks } from "./bucket-checks.ts";
import { capacityChecks } from "./capacity-checks.ts";
import { catalogChecks } from "./catalog-checks.ts";
import { containerChecks } from "./container-checks.ts";
import type { Deployment } from "./deployment.ts";
import { failureChecks } from "./failure-checks.ts";
import { familyChecks } from "./family-checks.ts";
import { type Check, type Finding, type Severity, type Subject, severities } from "./finding.ts";
import { flowChecks } from "./flow-checks.ts";
import { layerChecks } from "./layer-checks.ts";
import { liveChecks } from "./live-checks.ts";
import { noticeChecks } from "./notice-checks.ts";
import { constantOnceKey } from "./once-check.ts";
import { queueChecks } from "./queue-checks.ts";
import { safetyChecks } from "./safety-checks.ts";
import { typeChecks } from "./type-checks.ts";
import { watchChecks } from "./watch-checks.ts";

/** All checks, in the order of `docs/doctor.md`. */
export const checks: readonly Check[] = [
  ...queueChecks,
  ...capacityChecks,
  ...watchChecks,
  ...safetyChecks,
  ...noticeChecks,
  ...containerChecks,
  ...layerChecks,
  ...bucketChecks,
  ...catalogChecks,
  ...typeChecks.map(
    ({ id, findIn: _, ...check }): Check => ({ ...check, id, find: ({ findings }) => findings[id] ?? [] }),
  ),
  constantOnceKey,
  ...familyChecks,
  ...flowChecks,
  ...liveChecks,
  ...failureChecks,
];

/** Id and title of a check that found nothing or was skipped. */
export interface CheckName {
  check: string;
  title: string;
}

/** Result of a review, which `--json` prints. */
export interface Review {
  /** Worst first. */
  findings: readonly (Finding & { check: string })[];
  /** Number of findings of each severity. */
  counts: Readonly<Record<Severity, number>>;
  /** Checks that found nothing. */
  passed: readonly CheckName[];
  /** Skipped checks, each with the reason. */
  leftOut: readonly (CheckName & { why: string })[];
}

/** Runs all checks, except those in `skipped`, and except those whose part of the subject is absent. */
export function review(subject: Subject, skipped: readonly string[] = []): Review {
  const reasonToSkip = ({ id, needs }: Check) => {
    if (skipped.includes(id)) return "skipped";
    return needs !== undefined && subject[needs] === undefined ? `needs --${needs}` : undefined;
  };
  const made = checks.filter((check) => reasonToSkip(check) === undefined);
  const found = made.map((check) => ({ check, findings: check.find(subject) }));
  const findings = found.flatMap(({ check, findings }) => findings.map((finding) => ({ check: check.id, ...finding })));
  const place = ({ severity }: Finding) => severities.indexOf(severity);
  return {
    findings: findings.sort((a, b) => place(a) - place(b)),
    counts: countsOf(findings),
    passed: found.filter(({ findings }) => findings.length === 0).map(({ check }) => nameOf(check)),
    leftOut: checks.flatMap((check) => {
      const why = reasonToSkip(check);
      return why === undefined ? [] : [{ ...nameOf(check), why }];
    }),
  };
}

const nameOf = ({ id, title }: Check): CheckName => ({ check: id, title });

const countsOf = (findings: readonly Finding[]): Record<Severity, number> =>
  Object.fromEntries(
    severities.map((severity) => [severity, findings.filter((finding) => finding.severity === severity).length]),
  ) as Record<Severity, number>;

/** Worst severity of the findings. Undefined: no findings. */
export const worstOf = ({ findings }: Review): Severity | undefined => findings[0]?.severity;

/** True when the stacks contain a pipeline. */
export const hasPipeline = (deployment: Deployment): boolean => deployment.stacks.length > 0;
