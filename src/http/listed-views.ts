import type { LimitWait } from "../core/extras/limits/limit-waits.ts";
import type { StoppedTenant, TypeFlowView } from "../core/extras/limits/view-flow.ts";
import type { RunsOn } from "../core/model/runs-on.ts";
import type { Tier } from "../core/model/tier.ts";

/*
 * Views that the client shows, apart from the handlers that make them: the client's declarations need no package.
 */

/** A task type as clients see it. */
export interface TypeView extends TypeFlowView {
  name: string;
  description: string;
  version: number;
  priority: Tier;
  runs_on: RunsOn;
  timeout_seconds: number;
  max_attempts: number;
  cancellable: boolean;
  /** JSON Schema (draft 2020-12) of the input. */
  input_schema: Record<string, unknown>;
  /** JSON Schema of the result. Null: the type declares none. */
  output_schema: Record<string, unknown> | null;
  /** Time from which the first task waits behind a pause of the type, or its breaker. */
  waiting_since: string | null;
  /** The tasks that wait for a place or a start of the type's limits. Null: none does. */
  waits_for_limit: LimitWait | null;
  /** Only in a list for all tenants: those for which alone it is paused, or its breaker open. */
  stopped_tenants?: StoppedTenant[] | undefined;
}

/** One tier as clients see it. */
export interface QueueView {
  visible: number;
  in_flight: number;
  delayed: number;
  /** Null: not known yet. */
  oldest_age_seconds: number | null;
  dead_letters: number;
  /** Tasks that wait for another attempt after a failed one. Of more than some thousands, at least so many. */
  retrying: number;
  paused: boolean;
  paused_since: string | null;
  /** Time since which submits get `queue_full`. Null: none got it in the last two minutes. */
  refusing_since: string | null;
}
