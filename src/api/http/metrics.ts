import * as z from "zod";
import { type MetricHistory, spanOf } from "../../core/control/metric-history.ts";
import { iso } from "../../core/model/record.ts";
import type { Clock } from "../../core/ports/tasks.ts";
import { type HandlersOf, identify } from "./api.ts";
import { numberUpTo, queryOf } from "./query.ts";

/** Query of `GET /metrics`. */
export const metricsSchema = z.object({ hours: numberUpTo(24).default(3) });

/** Handlers that read what the deployment measured. */
export const metricReads = ({ clock, history }: { clock: Clock; history: MetricHistory }) =>
  ({
    readMetrics: async (call) => {
      identify(call, "admin", "all");
      const { hours } = queryOf(call, metricsSchema);
      const span = spanOf(clock.now(), hours);
      const series = await history.series(span);
      return call.unstored({
        from: iso(span.from * 1000),
        to: iso(span.to * 1000),
        period_seconds: span.periodSeconds,
        series,
      });
    },
    listAlarms: async (call) => {
      identify(call, "admin", "all");
      return call.unstored({ alarms: await history.alarms() });
    },
  }) satisfies Partial<HandlersOf<"control">>;
