import { PortUnavailable } from "../model/errors.ts";
import { systemTenant } from "../model/internal-names.ts";
import type { TaskRecord } from "../model/record.ts";
import type { Clock, Log, Metrics, Records } from "../ports/tasks.ts";

/** A failure that was seen is not new for this time, in milliseconds. */
const knownForMs = 86_400_000;

/** The line that the saved query "new failures" finds. */
export const newFailureLine = "a type fails with an error that it did not have in the last day";

interface NotePorts {
  clock: Clock;
  records: Pick<Records, "loadPart" | "savePart">;
  log: Log;
  metrics: Metrics;
}

/**
 * Counts a dead letter whose type had no other with this class of error in the last day. The alarm on the number of
 * dead letters stays on while old ones are kept, so it tells nobody of the next type that fails. All tenants count
 * together, in the tier `normal`: an alarm for each tier would cost four times as much. Never throws: what was not
 * noted counts with the next one.
 */
export async function noteNewFailure(ports: NotePorts, record: TaskRecord): Promise<void> {
  const { clock, records, log, metrics } = ports;
  const { type, error_type: errorType = "", error_kind: errorKind } = record;
  const [place, part] = [{ tenant_id: systemTenant, task_id: "failures" }, `failure#${type}#${errorType}`] as const;
  const now = clock.now();
  try {
    const known = (await records.loadPart(place, part)) as { readonly until_ms: number } | undefined;
    if (known !== undefined && now < known.until_ms) return;
    const untilMs = now + knownForMs;
    await records.savePart(place, part, { until_ms: untilMs }, Math.ceil(untilMs / 1000));
  } catch (error) {
    if (!(error instanceof PortUnavailable)) throw error;
    log.warn("could not note whether a failure is new", { type, error: String(error) });
    return;
  }
  metrics.add("new_failure", 1, { tier: "normal", type });
  // Without the error's text, as the type may be sensitive.
  log.warn(newFailureLine, {
    ...{ type, error_type: errorType, error_kind: errorKind },
    ...{ task_id: record.task_id, tenant_id: record.tenant_id },
  });
}
