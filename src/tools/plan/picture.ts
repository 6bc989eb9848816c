import { type Tier, tiers } from "../../core/model/words.ts";
import type { TierSeries } from "./gauges.ts";
import type { Outcome } from "./simulate.ts";
import { clockTime, duration, whole } from "./wording.ts";

const width = 960;
const left = 84;
const right = 44;
const panelHeight = 170;
const panelGap = 46;
const top = 56;
const ticks = 4;

const colors: Readonly<Record<Tier, string>> = {
  critical: "#c0392b",
  high: "#d68910",
  normal: "#2471a3",
  low: "#7d8590",
};

/** One curve of a panel. */
interface Curve {
  tier: Tier;
  values: readonly number[];
  dashed?: boolean;
}

interface Panel {
  title: string;
  curves: readonly Curve[];
  /** Returns the scale for the highest value. */
  scale(highest: number): Scale;
  label(value: number): string;
}

interface Scale {
  /** Values of the grid lines. */
  lines: readonly number[];
  /** Height of a value in the panel, 0 to 1. */
  height(value: number): number;
}

/** Draws waits, depth and invocations of each tier over time, as SVG. */
export function picture(title: string, outcome: Outcome): string {
  const points = lastPoint(outcome);
  const curves = (pick: (series: TierSeries) => number[], dashed = false): Curve[] =>
    tiers.flatMap((tier) => {
      const series = outcome.series[tier];
      return series === undefined ? [] : [{ tier, values: pick(series).slice(0, points), dashed }];
    });
  const panels: Panel[] = [
    {
      title: "Wait until a task starts: p99 (solid), p50 (dashed)",
      curves: [...curves((series) => series.p99), ...curves((series) => series.p50, true)],
      scale: logarithmic,
      label: duration,
    },
    { title: "Waiting tasks", curves: curves((series) => series.depth), scale: linear, label: whole },
    { title: "Concurrent worker invocations", curves: curves((series) => series.running), scale: linear, label: whole },
  ];
  const height = top + panels.length * (panelHeight + panelGap);
  const seconds = points * outcome.secondsPerPoint;
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" font-family="sans-serif" font-size="12">`,
    `<rect width="${width}" height="${height}" fill="#fff"/>`,
    text(left, 22, title, 'font-size="15" font-weight="bold"'),
    ...legend(outcome),
    ...panels.flatMap((panel, index) => draw(panel, top + index * (panelHeight + panelGap), points, seconds)),
    "</svg>",
    "",
  ].join("\n");
}

/** Number of points up to the time when nothing waits or runs any more. The series are longer. */
function lastPoint(outcome: Outcome): number {
  const lengths = tiers.map((tier) => {
    const series = outcome.series[tier];
    const busy = series?.running.findLastIndex((running, index) => running > 0 || (series.depth[index] ?? 0) > 0);
    return (busy ?? -1) + 1;
  });
  return Math.max(2, ...lengths);
}

function legend(outcome: Outcome): string[] {
  const shown = tiers.filter((tier) => outcome.series[tier] !== undefined);
  return shown.flatMap((tier, index) => {
    const x = left + index * 90;
    return [
      `<rect x="${x}" y="32" width="12" height="4" fill="${colors[tier]}"/>`,
      text(x + 18, 38, tier, `fill="${colors[tier]}"`),
    ];
  });
}

function draw(panel: Panel, y: number, points: number, seconds: number): string[] {
  const scale = panel.scale(Math.max(...panel.curves.flatMap((curve) => curve.values)));
  const bottom = y + panelHeight;
  const atX = (point: number) => left + (point / (points - 1)) * (width - left - right);
  const atY = (value: number) => bottom - scale.height(value) * (panelHeight - 24);
  const lines = panel.curves.map(({ tier, values, dashed }) => {
    const path = values.map((value, index) => `${atX(index).toFixed(1)},${atY(value).toFixed(1)}`).join(" ");
    const dash = dashed === true ? ' stroke-dasharray="4 3"' : "";
    return `<polyline fill="none" stroke="${colors[tier]}" stroke-width="1.5"${dash} points="${path}"/>`;
  });
  const across = scale.lines.flatMap((value) => levelLine(atY(value), panel.label(value)));
  return [text(left, y + 12, panel.title, 'font-weight="bold"'), ...across, ...timeLabels(bottom, seconds), ...lines];
}

const levelLine = (y: number, label: string): string[] => [
  `<line x1="${left}" x2="${width - right}" y1="${y.toFixed(1)}" y2="${y.toFixed(1)}" stroke="#ddd"/>`,
  text(left - 8, y + 4, label, 'text-anchor="end" fill="#555"'),
];

const timeLabels = (bottom: number, seconds: number): string[] =>
  Array.from({ length: ticks + 1 }, (_, index) => {
    const x = left + (index / ticks) * (width - left - right);
    return text(x, bottom + 16, clockTime((index / ticks) * seconds), 'text-anchor="middle" fill="#555"');
  });

function linear(highest: number): Scale {
  const end = niceCeiling(highest);
  return {
    lines: Array.from({ length: ticks + 1 }, (_, index) => (index / ticks) * end),
    height: (value) => value / end,
  };
}

/** Bottom of the scale of waits, in seconds. Shorter waits are drawn there. */
const shortest = 0.01;

/**
 * Logarithmic scale, because waits differ by a factor of thousands between tiers. Each line is ten times the one below.
 */
function logarithmic(highest: number): Scale {
  const count = Math.max(1, Math.ceil(Math.log10(highest / shortest)));
  return {
    lines: Array.from({ length: count + 1 }, (_, index) => Number((shortest * 10 ** index).toPrecision(1))),
    height: (value) => Math.log10(Math.max(value, shortest) / shortest) / count,
  };
}

/** End of a linear scale. The distance between its lines is a round number. */
function niceCeiling(value: number): number {
  const step = Math.max(1, Math.ceil(value / ticks));
  const power = 10 ** Math.floor(Math.log10(step));
  const steps = [1, 1.5, 2, 2.5, 3, 4, 5, 6, 8, 10].map((factor) => factor * power);
  return ticks * (steps.find((nice) => nice >= step && Number.isInteger(nice)) ?? step);
}

const escaped = (value: string): string =>
  value.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;").replaceAll('"', "&quot;");

const text = (x: number, y: number, value: string, more = ""): string =>
  `<text x="${x.toFixed(1)}" y="${y.toFixed(1)}" ${more}>${escaped(value)}</text>`;
