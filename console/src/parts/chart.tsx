import { useSignal } from "@preact/signals";
import type { Deployment } from "../../../src/core/schedules/ports.ts";
import { type Mark, marksIn, marksText } from "../deployments.ts";
import { localTime } from "../format.ts";
import { toggling } from "../signals.ts";
import { MarkLegend, MarkLines } from "./deployments.tsx";
import { Table } from "./table.tsx";
import { now } from "./text.tsx";

/** A line of a chart. Null: there is no value at that time. */
export interface ChartLine {
  name: string;
  colour: "good" | "danger" | "accent" | "warn";
  values: readonly (number | null)[];
}

export interface ChartData {
  /** Epoch seconds, in order. */
  times: readonly number[];
  lines: readonly ChartLine[];
}

/** Rows of the table, newest first. */
const mostRows = 300;

/** Size of the drawing, which is stretched to its place. */
const wide = 600;
const high = 160;

/** Lines over time, with the same values as a table. */
export function Chart({
  label,
  data,
  deployments,
  format,
}: {
  /** For screen readers. */
  label: string;
  data: ChartData;
  /** Newest first. The chart marks the deployments of its time. */
  deployments: readonly Deployment[];
  /** A value as people read it. */
  format: (value: number) => string;
}) {
  const { times, lines } = data;
  const marks = marksIn(deployments, (times[0] ?? 0) * 1_000, (times.at(-1) ?? 0) * 1_000, now.value);
  const top = topOf(lines);
  const ends = [times[0], times[Math.floor(times.length / 2)], times.at(-1)];
  return (
    <div class="chart">
      <ul class="legend">
        {lines.map(({ name, colour }, index) => (
          <li key={name}>
            <span class={`swatch ${colour}${isDashed(index) ? " dashed" : ""}`} aria-hidden="true" /> {name}
          </li>
        ))}
        {marks.length > 0 && (
          <li>
            <MarkLegend of={marks} />
          </li>
        )}
      </ul>
      <div class="plot" role="img" aria-label={labelOf(label, marks)}>
        <svg class="i" viewBox={`0 0 ${wide} ${high}`} preserveAspectRatio="none" aria-hidden="true">
          <path class="grid" d={`M0 0H${wide}M0 ${high / 2}H${wide}M0 ${high}H${wide}`} />
          {lines.map(({ name, colour, values }, index) => (
            <path key={name} class={`${colour}${isDashed(index) ? " dashed" : ""}`} d={pathOf(values, top)} />
          ))}
        </svg>
        {marks.length > 0 && <MarkLines of={marks} />}
        <span class="most" aria-hidden="true">
          {format(top)}
        </span>
      </div>
      <div class="axis" aria-hidden="true">
        {ends.map((time) => (
          <span key={time}>{time !== undefined && clock(time)}</span>
        ))}
      </div>
      <AsTable {...{ label, data, format }} />
    </div>
  );
}

const labelOf = (label: string, marks: readonly Mark[]): string =>
  [label, ...(marks.length > 0 ? [`Marked: ${marksText(marks)}`] : []), "The table below has the values."].join(". ");

/** Lines differ by more than their colours. */
const isDashed = (index: number): boolean => index % 2 === 1;

/** The value at the top edge: the largest one, rounded up to 1, 2 or 5 with zeros behind it. */
function topOf(lines: readonly ChartLine[]): number {
  const largest = lines.reduce((most, { values }) => values.reduce<number>((a, b) => Math.max(a, b ?? 0), most), 0);
  if (largest === 0) return 1;
  const unit = 10 ** Math.floor(Math.log10(largest));
  return ([1, 2, 5].find((factor) => factor * unit >= largest) ?? 10) * unit;
}

/** The line through the values. Between times without a value there is none; a value alone is a short line. */
function pathOf(values: ChartLine["values"], top: number): string {
  const step = wide / Math.max(1, values.length - 1);
  return values
    .map((value, index) => {
      if (value === null) return "";
      const [x, y] = [index * step, (high * (1 - value / top)).toFixed(1)];
      if (typeof values[index - 1] === "number") return `L${x.toFixed(1)} ${y}`;
      // Without a neighbour it would be no line.
      const isAlone = typeof values[index + 1] !== "number";
      return isAlone ? `M${(x - 4).toFixed(1)} ${y}h8` : `M${x.toFixed(1)} ${y}`;
    })
    .join("");
}

const clock = (seconds: number): string =>
  new Date(seconds * 1_000).toLocaleTimeString(undefined, { hour: "2-digit", minute: "2-digit", hourCycle: "h23" });

function AsTable({
  label,
  data: { times, lines },
  format,
}: {
  label: string;
  data: ChartData;
  format: (value: number) => string;
}) {
  const isOpen = useSignal(false);
  const rows = times.map((_, index) => index).reverse();
  const textOf = (value: number | null | undefined) => (value === null || value === undefined ? "–" : format(value));
  return (
    <details class="curl" onToggle={toggling(isOpen)}>
      <summary>As a table</summary>
      {isOpen.value && (
        <Table
          label={label}
          rows={rows.slice(0, mostRows)}
          keyOf={String}
          columns={[
            { name: "From", cell: (index) => localTime(new Date((times[index] ?? 0) * 1_000).toISOString()) },
            ...lines.map(({ name, values }) => ({
              ...{ name, numeric: true },
              cell: (index: number) => textOf(values[index]),
            })),
          ]}
        />
      )}
    </details>
  );
}
