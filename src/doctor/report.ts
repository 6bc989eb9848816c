import { severities } from "./finding.ts";
import type { Review } from "./review.ts";

/** A review for people: findings by severity, each with its fix, then what is in order. */
export function reviewText({ findings, counts, passed, leftOut }: Review): string {
  const bySeverity = severities.map((severity) =>
    section(
      severity,
      findings
        .filter((finding) => finding.severity === severity)
        .map(({ check, subject, found, fix }) => `  ${subject}  [${check}]\n    ${found}\n    Fix: ${fix}`),
    ),
  );
  const inOrder = section(
    "passed",
    passed.map(({ check, title }) => `  ${title}  [${check}]`),
  );
  const skipped = section(
    "skipped",
    leftOut.filter(({ why }) => why === "skipped").map(({ check, title }) => `  ${title}  [${check}]`),
  );
  const number = severities
    .filter((severity) => counts[severity] > 0)
    .map((severity) => `${counts[severity]} ${severity}`);
  const summary = number.length === 0 ? "nothing to mend" : number.join(", ");
  const sections = [...bySeverity, inOrder, skipped].filter((text) => text !== "");
  return `${sections.join("\n\n")}\n\n${summary}; ${passed.length} checks passed`;
}

const section = (name: string, lines: readonly string[]): string =>
  lines.length === 0 ? "" : `${name.toUpperCase()}\n${lines.join("\n")}`;
