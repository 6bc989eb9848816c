import { useMemo } from "preact/hooks";
import { nowMs } from "../clock.ts";
import { Nothing } from "../parts/layout.tsx";
import { Time } from "../parts/text.tsx";
import { changeEffect, type Rule } from "../rule-words.ts";
import { type ClockChange, clockChanges, dayIn, offsetText, readerZone, timeIn } from "../zones.ts";

type Row = { ms: number; at: string } | { ms: number; change: ClockChange };

/** The times and, between them, the changes of the zone's clocks. */
function rowsOf(times: readonly string[], rule: Rule): Row[] {
  const rows: Row[] = times.map((at) => ({ ms: Date.parse(at), at }));
  const [first, last] = [rows[0], rows.at(-1)];
  if (first === undefined || last === undefined) return rows;
  const startMs = Math.min(first.ms, Math.max(nowMs(), Date.parse(rule.starts_at ?? "") || 0));
  const changes = clockChanges(rule.timezone, startMs, last.ms);
  return [...rows, ...changes.map((change) => ({ ms: change.atMs, change }))].sort((a, b) => a.ms - b.ms);
}

/** Times at which a rule submits, on the clocks of the schedule's zone and of the reader's. */
export function TimesTable({ times, rule, label }: { times: readonly string[]; rule: Rule; label: string }) {
  const zone = rule.timezone;
  const own = readerZone();
  const hasTwo = own !== zone;
  const rows = useMemo(() => rowsOf(times, rule), [times, JSON.stringify(rule)]);
  if (times.length === 0) return <Nothing>The rule has no time from now on.</Nothing>;
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls must be reachable by keyboard.
    <section class="scroll times" tabIndex={0} aria-label={label}>
      <table>
        <thead>
          <tr>
            <th scope="col">In {zone} (the schedule's zone)</th>
            {hasTwo && <th scope="col">In {own} (your zone)</th>}
            <th scope="col">From now</th>
          </tr>
        </thead>
        <tbody>
          {rows.map((row) =>
            "at" in row ? (
              <tr key={row.at}>
                <td>
                  {timeIn(row.ms, zone)} <small class="muted">{offsetText(row.ms, zone)}</small>
                </td>
                {hasTwo && (
                  <td>
                    {timeIn(row.ms, own)} <small class="muted">{offsetText(row.ms, own)}</small>
                  </td>
                )}
                <td>
                  <Time at={row.at} />
                </td>
              </tr>
            ) : (
              <tr key={`change ${row.ms}`} class="clock-change">
                <td colSpan={hasTwo ? 3 : 2}>
                  {dayIn(row.ms, zone)}: {changeEffect(rule, row.change)}.
                </td>
              </tr>
            ),
          )}
        </tbody>
      </table>
    </section>
  );
}
