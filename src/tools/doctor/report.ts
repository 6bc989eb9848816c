import { severities } from "./finding.ts";
import type { Review } from "./review.ts";

/** Formats a review for a terminal: findings by severity, each with its fix, then the passed and skipped checks. */
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
  const summary = number.length === 0 ? "no findings" : number.join(", ");
  const sections = [...bySeverity, inOrder, skipped].filter((text) => text !== "");
  return `${sections.join("\n\n")}\n\n${summary}; ${passed.length} checks passed`;
}

const section = (name: string, lines: readonly string[]): string =>
  lines.length === 0 ? "" : `${name.toUpperCase()}\n${lines.join("\n")}`;
