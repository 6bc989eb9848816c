import { useSignal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import type uPlot from "uplot";
import { localTime } from "../format.ts";
import { toggling } from "../signals.ts";
import { theme } from "../theme.ts";
import { Failure } from "./layout.tsx";
import { Table } from "./table.tsx";

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

const heightPixels = 190;

/** Rows of the table, newest first. */
const mostRows = 300;

/** Lines over time, with the same values as a table. The library is loaded when the first chart is shown. */
export function Chart({
  label,
  data,
  format,
}: {
  /** For screen readers. */
  label: string;
  data: ChartData;
  /** A value as people read it. */
  format: (value: number) => string;
}) {
  const host = useRef<HTMLDivElement>(null);
  const error = useSignal<Error | undefined>(undefined);
  const colours = useColours();
  useEffect(() => {
    let plot: uPlot | undefined;
    let isOver = false;
    const observer = new ResizeObserver(([entry]) => {
      if (entry !== undefined) plot?.setSize({ width: entry.contentRect.width, height: heightPixels });
    });
    const draw = async () => {
      try {
        const { default: Plot } = await import("uplot");
        const { current } = host;
        if (isOver || current === null) return;
        plot = new Plot(optionsOf(current, data, format), [[...data.times], ...data.lines.map(valuesOf)], current);
        observer.observe(current);
      } catch (thrown) {
        error.value = thrown as Error;
      }
    };
    void draw();
    return () => {
      isOver = true;
      observer.disconnect();
      plot?.destroy();
    };
  }, [JSON.stringify(data), colours]);
  return (
    <div class="chart">
      <ul class="legend">
        {data.lines.map(({ name, colour }, index) => (
          <li key={name}>
            <span class={`swatch ${colour}${isDashed(index) ? " dashed" : ""}`} aria-hidden="true" /> {name}
          </li>
        ))}
      </ul>
      {error.value !== undefined && <Failure error={error.value} />}
      <div ref={host} class="plot" role="img" aria-label={`${label}. The table below has the values.`} />
      <AsTable {...{ label, data, format }} />
    </div>
  );
}

/** Another text when the colours of the page are others. */
function useColours(): string {
  const isDark = useSignal(matchMedia("(prefers-color-scheme: dark)").matches);
  useEffect(() => {
    const query = matchMedia("(prefers-color-scheme: dark)");
    const change = () => {
      isDark.value = query.matches;
    };
    query.addEventListener("change", change);
    return () => query.removeEventListener("change", change);
  }, []);
  return `${theme.value} ${isDark.value}`;
}

const valuesOf = ({ values }: ChartLine): (number | null)[] => [...values];

/** Lines differ by more than their colours. */
const isDashed = (index: number): boolean => index % 2 === 1;

/** The colour that a class of the style sheet gives in this place. */
function colourOf(host: HTMLElement, name: string): string {
  const probe = document.createElement("span");
  probe.className = `swatch ${name}`;
  host.append(probe);
  const { color } = getComputedStyle(probe);
  probe.remove();
  return color;
}

function optionsOf(host: HTMLElement, { lines }: ChartData, format: (value: number) => string): uPlot.Options {
  const axis = { stroke: colourOf(host, "muted"), grid: { stroke: colourOf(host, "line"), width: 1 } };
  return {
    width: host.clientWidth,
    height: heightPixels,
    legend: { show: false },
    cursor: { show: false },
    scales: { y: { range: (_, __, most) => [0, most > 0 ? most * 1.1 : 1] } },
    axes: [
      { ...axis, ticks: { show: false }, size: 28, values: (_, times) => times.map(clock) },
      { ...axis, ticks: { show: false }, size: 68, values: (_, values) => values.map(format) },
    ],
    series: [
      {},
      ...lines.map(({ name, colour, values }, index) => ({
        label: name,
        points: { size: 5, fill: colourOf(host, colour), filter: () => lonely(values) },
        stroke: colourOf(host, colour),
        width: 2,
        ...(isDashed(index) && { dash: [6, 4] }),
      })),
    ],
  };
}

/** Values between two times without any: no line goes to them, so they get a dot. */
const lonely = (values: ChartLine["values"]): number[] =>
  values.flatMap((value, index) =>
    typeof value === "number" && typeof values[index - 1] !== "number" && typeof values[index + 1] !== "number"
      ? [index]
      : [],
  );

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
