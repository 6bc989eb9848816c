import type { ScheduleView } from "../../../src/client/schedule-calls.ts";
import { Status, Time } from "../parts/text.tsx";
import { href } from "../route.ts";
import { ruleWords } from "../rule-words.ts";
import { chosenTenant } from "../session.ts";
import { isSameTime, readerZone, timeIn } from "../zones.ts";
import { stateOf } from "./schedules-data.ts";

/** A time as seen from now, and on the clocks of the reader and of the schedule where these differ. */
export function ZonedTime({ at, zone }: { at: string | null; zone: string }) {
  if (at === null) return <span class="muted">–</span>;
  const ms = Date.parse(at);
  const own = readerZone();
  return (
    <span class="zoned">
      <span>
        {timeIn(ms, own)} <span class="muted">(</span>
        <Time at={at} />
        <span class="muted">)</span>
      </span>
      {!isSameTime(ms, own, zone) && (
        <span class="muted">
          {timeIn(ms, zone)} in {zone}
        </span>
      )}
    </span>
  );
}

/** The rule in words, as cron, and its zone. */
export function RuleText({ of }: { of: ScheduleView }) {
  return (
    <span class="zoned">
      <span>{ruleWords(of)}</span>
      <span class="muted">
        {of.cron !== null && <code>{of.cron}</code>} {of.timezone}
      </span>
    </span>
  );
}

const shapes = { active: "open", failing: "failed", paused: "paused", ended: "cancelled" };

export function ScheduleState({ of }: { of: ScheduleView }) {
  const state = stateOf(of);
  return <Status of={shapes[state]} word={state} />;
}

/** The time of the last task, with a link to it. */
export function LastTask({ of: { last_run_at, last_task_id } }: { of: ScheduleView }) {
  if (last_task_id === null) return <Time at={last_run_at} />;
  return (
    <a href={href(["tasks", last_task_id], { tenant: chosenTenant.value })}>
      <Time at={last_run_at} />
    </a>
  );
}
