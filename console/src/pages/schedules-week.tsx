import { useSignal } from "@preact/signals";
import { useMemo } from "preact/hooks";
import type { ScheduleView } from "../../../src/client/schedule-calls.ts";
import { nowMs } from "../clock.ts";
import { count } from "../format.ts";
import { Icon } from "../parts/icon.tsx";
import { Nothing, Section } from "../parts/layout.tsx";
import { now, Text } from "../parts/text.tsx";
import { hrefOf } from "../session.ts";
import { setting } from "../signals.ts";
import { changeText, clockIn, dayIn, dayMs, readerZone } from "../zones.ts";
import { daysShown, type Often, type Slot, type WeekDay, weekOf } from "./schedules-week-times.ts";

/** Times of a day that are shown at most. */
const mostSlots = 12;

/** Weeks ahead that the calendar goes. */
const mostWeeks = 52;

const hourMs = 3_600_000;

/** The next seven days of all schedules, those of the code too, with changes of the clocks in their place. */
export function WeekAhead({ of }: { of: readonly ScheduleView[] }) {
  const isUtc = useSignal(false);
  const weeks = useSignal(0);
  const own = readerZone();
  const zone = isUtc.value ? "UTC" : own;
  // Once a minute: a time that is over leaves the calendar.
  const minute = Math.floor(now.value / 60_000);
  const week = useMemo(() => weekOf(of, nowMs(), zone, weeks.value * daysShown), [of, zone, weeks.value, minute]);
  const skipped = week.days.flatMap(({ slots }) =>
    slots.filter(({ skipped, schedule }) => skipped !== undefined && schedule.enabled),
  );
  return (
    <>
      {skipped.length > 0 && <Skips of={skipped} />}
      <Section
        title={weeks.value === 0 ? "Next 7 days" : `7 days from ${dayIn(week.days[0]?.startMs ?? nowMs(), zone)}`}
        actions={
          <>
            {own !== "UTC" && (
              <fieldset class="choices">
                <legend class="for-readers">Clock</legend>
                <button type="button" aria-pressed={!isUtc.value} onClick={setting(isUtc, false)}>
                  Your clock
                </button>
                <button type="button" aria-pressed={isUtc.value} onClick={setting(isUtc, true)}>
                  UTC
                </button>
              </fieldset>
            )}
            <button type="button" disabled={weeks.value === 0} onClick={setting(weeks, weeks.value - 1)}>
              Week before
            </button>
            <button type="button" disabled={weeks.value >= mostWeeks} onClick={setting(weeks, weeks.value + 1)}>
              Week after
            </button>
          </>
        }
      >
        <ol class="week" aria-label={`Days in ${zone}`}>
          {week.days.map((day) => (
            <Day key={day.startMs} day={day} zone={zone} />
          ))}
        </ol>
        {week.days.every(({ slots }) => slots.length === 0) && week.often.length === 0 && (
          <Nothing>No schedule has a time in these days.</Nothing>
        )}
        {week.often.length > 0 && <Besides of={week.often} />}
      </Section>
    </>
  );
}

/** Times that clocks skip, each with its way out. */
function Skips({ of }: { of: readonly Slot[] }) {
  return (
    <ol class="troubles" aria-label="Times that will be skipped">
      {of.slice(0, 20).map(({ schedule, skipped, ms }) => (
        <li key={`${schedule.schedule_id} ${ms}`}>
          <Icon of="warn" />
          <div>
            <p class="say">
              <a href={hrefOf(["schedules", schedule.schedule_id], schedule)}>
                <Text of={schedule.name} most={64} />
              </a>{" "}
              is skipped on {dayIn(ms, schedule.timezone)}: clocks go forward.
            </p>
            <p class="why">
              {skipped} does not exist on that day in {schedule.timezone}. Its page runs it by hand, or changes its
              time.
            </p>
          </div>
        </li>
      ))}
    </ol>
  );
}

function Day({ day: { startMs, endMs, slots, changes }, zone }: { day: WeekDay; zone: string }) {
  const hours = Math.round((endMs - startMs) / hourMs);
  const isToday = startMs <= nowMs() && nowMs() < endMs;
  // In the order of the day, so that a change stands between the times around it.
  const rows = [...slots, ...changes.map((change) => ({ ms: change.atMs, change }))].sort((a, b) => a.ms - b.ms);
  const shown = rows.slice(0, mostSlots);
  return (
    <li class={isToday ? "today" : undefined} aria-current={isToday ? "date" : undefined}>
      <h3>
        {dayIn(startMs, zone)}
        {endMs - startMs !== dayMs && <span class="tag again">{hours} h</span>}
      </h3>
      <ul>
        {shown.map((row) =>
          "change" in row ? (
            <li key={`change ${row.ms}`} class="clock-change">
              <Icon of="scheduled" /> {changeText(row.change)}
            </li>
          ) : (
            <SlotRow key={`${row.ms} ${row.schedule.schedule_id} ${row.skipped}`} slot={row} zone={zone} />
          ),
        )}
      </ul>
      {rows.length > shown.length && <p class="muted">{count(rows.length - shown.length)} more</p>}
    </li>
  );
}

function SlotRow({ slot: { ms, schedule, skipped }, zone }: { slot: Slot; zone: string }) {
  const name = <Text of={schedule.name} most={64} />;
  return (
    <li class={schedule.enabled ? undefined : "muted"}>
      {skipped === undefined ? (
        <time dateTime={new Date(ms).toISOString()}>{clockIn(ms, zone)}</time>
      ) : (
        <s>{skipped}</s>
      )}{" "}
      <a href={hrefOf(["schedules", schedule.schedule_id], schedule)}>{skipped === undefined ? name : <s>{name}</s>}</a>
      {!schedule.enabled && " paused"}
      {skipped !== undefined && <span class="for-readers"> is skipped</span>}
    </li>
  );
}

/** Schedules with many times a day, as their number. */
function Besides({ of }: { of: readonly Often[] }) {
  const sorted = [...of].sort((a, b) => b.times - a.times);
  return (
    <p class="besides">
      <span class="muted">In these days besides:</span>{" "}
      {sorted.slice(0, 6).map(({ schedule, times }) => (
        <span key={schedule.schedule_id}>
          <a href={hrefOf(["schedules", schedule.schedule_id], schedule)}>
            <Text of={schedule.name} most={64} />
          </a>{" "}
          <strong>
            {count(times)} {times === 1 ? "time" : "times"}
          </strong>
          {!schedule.enabled && <span class="muted"> paused</span>}
        </span>
      ))}
      {sorted.length > 6 && <span class="muted">and {count(sorted.length - 6)} others</span>}
    </p>
  );
}
