import type { ScheduleView } from "../../../src/client/schedule-calls.ts";
import { nowMs } from "../clock.ts";
import { count } from "../format.ts";
import { useLoad } from "../load.ts";
import { Answer, Section } from "../parts/layout.tsx";
import { changeQuery, route } from "../route.ts";
import { changeEffect } from "../rule-words.ts";
import { api, tenant } from "../session.ts";
import { clockChanges, clockIn, dateIn, dayIn, dayMs, dayStart, minuteMs } from "../zones.ts";
import { ruleOf } from "./schedules-data.ts";

/** Times of one answer, and times of a day that the calendar shows. */
const timesAtOnce = 100;
const timesOfDay = 3;

/** Requests for a month of a rule with few times a day, one after the other; and of one with many, at the same time. */
const mostPages = 12;
const daysAtOnce = 4;

/** A rule of which one answer covers less than this has many times a day. */
const denseMs = 3 * dayMs;

interface Month {
  year: number;
  /** 1 to 12 */
  month: number;
}

/** A day of a month, and the instants between which it lies in the schedule's zone. */
interface Day {
  day: number;
  startMs: number;
  endMs: number;
}

const monthBy = ({ year, month }: Month, by: number): Month => {
  const time = new Date(Date.UTC(year, month - 1 + by, 1));
  return { year: time.getUTCFullYear(), month: time.getUTCMonth() + 1 };
};

const textOf = ({ year, month }: Month): string => `${year}-${String(month).padStart(2, "0")}`;

/** The month in the URL, but none that is over. */
function monthOf(text: string | undefined, zone: string): Month {
  const [year, month] = dateIn(nowMs(), zone);
  const present = { year, month };
  const given = /^(\d{4})-(0[1-9]|1[0-2])$/.exec(text ?? "");
  if (given === null || (text ?? "") < textOf(present)) return present;
  return { year: Number(given[1]), month: Number(given[2]) };
}

const daysIn = ({ year, month }: Month): number => new Date(Date.UTC(year, month, 0)).getUTCDate();

const daysOf = ({ year, month }: Month, zone: string): Day[] =>
  Array.from({ length: daysIn({ year, month }) }, (_, index) => ({
    day: index + 1,
    startMs: dayStart(year, month, index + 1, zone),
    endMs: dayStart(year, month, index + 2, zone),
  }));

/** Reads the times of a schedule from now on in some days. A rule with many times a day is read day by day. */
async function timesOf(schedule: ScheduleView, days: readonly Day[], signal: AbortSignal): Promise<number[]> {
  const rule = ruleOf(schedule);
  const presentMs = nowMs();
  const read = async (fromMs: number): Promise<number[]> => {
    signal.throwIfAborted();
    const body = { ...rule, from: new Date(Math.max(fromMs, presentMs) - 1).toISOString(), count: timesAtOnce };
    return (await api.send<{ next: string[] }>("POST", "/schedules/preview", body)).next.map((at) => Date.parse(at));
  };
  const left = days.filter(({ endMs }) => endMs > presentMs);
  const [first, last] = [left[0], left.at(-1)];
  if (first === undefined || last === undefined) return [];
  let found = await read(first.startMs);
  const spanMs = (found.at(-1) ?? 0) - (found[0] ?? 0);
  if (found.length === timesAtOnce && spanMs < denseMs) return readEach(left, read);
  for (let page = 1; page < mostPages && found.length === page * timesAtOnce; page++) {
    const until = found.at(-1) ?? 0;
    if (until >= last.endMs) break;
    found = [...found, ...(await read(until + minuteMs))];
  }
  return found.filter((ms) => ms < last.endMs);
}

async function readEach(days: readonly Day[], read: (fromMs: number) => Promise<number[]>): Promise<number[]> {
  const found: number[] = [];
  for (let index = 0; index < days.length; index += daysAtOnce) {
    const some = days.slice(index, index + daysAtOnce);
    const times = await Promise.all(
      some.map(async ({ startMs, endMs }) => (await read(startMs)).filter((ms) => ms < endMs)),
    );
    found.push(...times.flat());
  }
  return found;
}

/** A month of a schedule, in its zone. The month is in the URL. */
export function Calendar({ schedule }: { schedule: ScheduleView }) {
  const { timezone: zone } = schedule;
  const month = monthOf(route.value.query.month, zone);
  const isPresent = textOf(month) === textOf(monthOf(undefined, zone));
  const days = daysOf(month, zone);
  const key = JSON.stringify(["calendar", tenant.value, ruleOf(schedule), month]);
  const times = useLoad(key, (signal) => timesOf(schedule, days, signal));
  const show = (by: number) => changeQuery({ month: textOf(monthBy(month, by)) });
  const name = new Date(Date.UTC(month.year, month.month - 1)).toLocaleString(undefined, {
    ...{ month: "long", year: "numeric", timeZone: "UTC" },
  });
  return (
    <Section
      title="Calendar"
      actions={
        <>
          <button type="button" disabled={isPresent} onClick={() => show(-1)}>
            Previous month
          </button>
          <button type="button" onClick={() => show(1)}>
            Next month
          </button>
        </>
      }
    >
      <Answer of={times}>
        {(found) => <MonthTable caption={`${name}, in ${zone}`} {...{ schedule, days }} times={found} />}
      </Answer>
      {!schedule.enabled && <p class="muted">The schedule is paused: these are the times of its rule.</p>}
    </Section>
  );
}

const weekdays = ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"];

interface MonthProps {
  caption: string;
  schedule: ScheduleView;
  days: readonly Day[];
  times: readonly number[];
}

function MonthTable({ caption, schedule, days, times }: MonthProps) {
  const [first, last] = [days[0], days.at(-1)];
  if (first === undefined || last === undefined) return null;
  const [year, month] = dateIn(first.startMs, schedule.timezone);
  const before = (new Date(Date.UTC(year, month - 1, 1)).getUTCDay() + 6) % 7;
  const cells: (Day | undefined)[] = [...Array<undefined>(before).fill(undefined), ...days];
  const weeks = Array.from({ length: Math.ceil(cells.length / 7) }, (_, week) =>
    weekdays.map((_, day) => cells[week * 7 + day]),
  );
  const changes = clockChanges(schedule.timezone, first.startMs, last.endMs);
  return (
    <>
      <table class="calendar">
        <caption>
          {caption}: {count(times.length)} {times.length === 1 ? "time" : "times"} from now on
        </caption>
        <thead>
          <tr>
            {weekdays.map((name) => (
              <th key={name} scope="col">
                {name}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {weeks.map((week, index) => (
            <tr key={week.find((day) => day)?.day ?? index}>
              {week.map((day, place) =>
                day === undefined ? (
                  <td key={weekdays[place]} />
                ) : (
                  <DayCell
                    key={weekdays[place]}
                    day={day}
                    zone={schedule.timezone}
                    times={times.filter((ms) => ms >= day.startMs && ms < day.endMs)}
                    isChange={changes.some(({ atMs }) => atMs >= day.startMs && atMs < day.endMs)}
                  />
                ),
              )}
            </tr>
          ))}
        </tbody>
      </table>
      {changes.map((change) => (
        <p key={change.atMs} class="clock-change">
          {dayIn(change.atMs, schedule.timezone)}: {changeEffect(schedule, change)}.
        </p>
      ))}
    </>
  );
}

interface DayProps {
  day: Day;
  zone: string;
  times: readonly number[];
  /** True on a day on which the zone's clocks change. */
  isChange: boolean;
}

function DayCell({ day, zone, times, isChange }: DayProps) {
  const isOver = day.endMs <= nowMs();
  const isToday = !isOver && day.startMs <= nowMs();
  const more = times.length - timesOfDay;
  return (
    <td class={[isChange && "clock-change", isOver && "over"].filter(Boolean).join(" ") || undefined}>
      <span class="day" aria-current={isToday ? "date" : undefined}>
        {day.day}
        {isChange && (
          <>
            <span aria-hidden="true"> ⚠</span>
            <span class="for-readers">clocks change</span>
          </>
        )}
      </span>
      {times.length > 0 && (
        <ul>
          {times.slice(0, timesOfDay).map((ms) => (
            <li key={ms}>{clockIn(ms, zone)}</li>
          ))}
          {more > 0 && (
            <li class="muted">
              +{count(more)}
              {times.length === timesAtOnce ? " or more" : ""}
            </li>
          )}
        </ul>
      )}
    </td>
  );
}
