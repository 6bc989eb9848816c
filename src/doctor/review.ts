import { capacityChecks } from "./capacity-checks.ts";
import { catalogChecks } from "./catalog-checks.ts";
import type { Deployment } from "./deployment.ts";
import { type Check, type Finding, type Severity, type Subject, severities } from "./finding.ts";
import { liveChecks } from "./live-checks.ts";
import { queueChecks } from "./queue-checks.ts";
import { safetyChecks } from "./safety-checks.ts";
import { typeChecks } from "./type-checks.ts";
import { watchChecks } from "./watch-checks.ts";

/** Everything that a review looks at, in the order of `docs/doctor.md`. */
export const checks: readonly Check[] = [
  ...queueChecks,
  ...capacityChecks,
  ...watchChecks,
  ...safetyChecks,
  ...catalogChecks,
  ...typeChecks,
  ...liveChecks,
];

/** What a check is, for those that found nothing or were not made. */
export interface CheckName {
  check: string;
  title: string;
}

/** A review's outcome: what `--json` prints. */
export interface Review {
  /** The worst first. */
  findings: readonly (Finding & { check: string })[];
  /** How many findings there are of each severity. */
  counts: Readonly<Record<Severity, number>>;
  /** Checks that found nothing. */
  passed: readonly CheckName[];
  /** Checks that were not made, each with its reason. */
  leftOut: readonly (CheckName & { why: string })[];
}

/** Looks at everything. Checks in `skipped` are not made; those of the live account only when there is one. */
export function review(subject: Subject, skipped: readonly string[] = []): Review {
  const whyNot = ({ id, live }: Check) => {
    if (skipped.includes(id)) return "skipped";
    return live === true && subject.live === undefined ? "needs --live" : undefined;
  };
  const made = checks.filter((check) => whyNot(check) === undefined);
  const found = made.map((check) => ({ check, findings: check.find(subject) }));
  const findings = found.flatMap(({ check, findings }) => findings.map((finding) => ({ check: check.id, ...finding })));
  const place = ({ severity }: Finding) => severities.indexOf(severity);
  return {
    findings: findings.sort((a, b) => place(a) - place(b)),
    counts: countsOf(findings),
    passed: found.filter(({ findings }) => findings.length === 0).map(({ check }) => nameOf(check)),
    leftOut: checks.flatMap((check) => {
      const why = whyNot(check);
      return why === undefined ? [] : [{ ...nameOf(check), why }];
    }),
  };
}

const nameOf = ({ id, title }: Check): CheckName => ({ check: id, title });

const countsOf = (findings: readonly Finding[]): Record<Severity, number> =>
  Object.fromEntries(
    severities.map((severity) => [severity, findings.filter((finding) => finding.severity === severity).length]),
  ) as Record<Severity, number>;

/** The worst severity of a review; undefined: it found nothing. */
export const worstOf = ({ findings }: Review): Severity | undefined => findings[0]?.severity;

/** Whether there is a pipeline to review. */
export const hasPipeline = (deployment: Deployment): boolean => deployment.stacks.length > 0;
