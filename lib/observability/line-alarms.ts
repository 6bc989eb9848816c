import { Duration } from "aws-cdk-lib";
import { Stats } from "aws-cdk-lib/aws-cloudwatch";
import type { Thresholds } from "./alarm-options.ts";
import type { Alarms } from "./alarms.ts";
import type { Watched } from "./watched.ts";

/** A pause for a night has ended by then. */
const forgottenAfter = Duration.days(1);

/** Adds the alarms on tasks that wait in lines. Their metrics have data, and a price, only while tasks do. */
export function addLineAlarms(alarms: Alarms, { metrics }: Watched, { lineWait }: Thresholds): void {
  alarms.whenAbove({
    section: "breaker-open",
    metric: metrics.of("breaker_open", "normal"),
    threshold: 0,
    periods: 2,
    means: "the breaker of a type has been open for 10 minutes: its attempts fail, and its tasks wait.",
    first:
      'run the saved query "held lines": it names the type and the tenant. Then look at the dependency that it calls.',
  });
  alarms.whenAbove({
    section: "line-waits",
    metric: metrics.of("line_wait_ms", "normal", { statistic: Stats.MAXIMUM }),
    threshold: lineWait.toMilliseconds(),
    means: `the next task in the line of a limit has waited for more than ${lineWait.toHumanString()}.`,
    first: 'run the saved query "held lines": it names the line. Is its limit too low, or do its attempts hang?',
  });
  alarms.whenAbove({
    section: "pause-forgotten",
    metric: metrics.of("pause_age_ms", "normal", { statistic: Stats.MAXIMUM, period: Duration.minutes(15) }),
    threshold: forgottenAfter.toMilliseconds(),
    means:
      "a pause is older than a day, and tasks wait for its end. A task in a line is kept for as long as it waits, by the daily look at open tasks.",
    first:
      "run npx offload flow show: it names each pause and since when; npx offload audit says by whom. Ask them, then resume.",
  });
}
