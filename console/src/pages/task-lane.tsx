import { visible } from "../format.ts";
import { type Axis, ticksOf } from "./task-axis.ts";
import type { Line, Mark } from "./task-line.ts";

/** Height of a row of the timeline in pixels. */
const high = 30;
const middle = high / 2;

/** A bar is at least so wide, in percent: a millisecond beside an hour is still to be seen. */
const leastWide = 0.35;

/** Room that an error needs beside its bar, in percent. The row opens it otherwise. */
const leastRoom = 35;

/** Characters of an error that stand beside its bar. */
const longestBeside = 60;

/** Clocks on the axis stand so far apart at least, in percent. */
const tickPercent = 11;

const percent = (place: number): string => `${place.toFixed(2)}%`;

interface OnAxis {
  axis: Axis;
  /** Undefined: the story is over. */
  nowMs: number | undefined;
}

/** The bars of one line. The row's texts say the same. */
export function Lane({ line: { marks, attempt, isStack }, axis, nowMs }: OnAxis & { line: Line }) {
  return (
    <svg class="lane" width="100%" height={high} aria-hidden="true">
      {axis.folds.map(({ from, to }) => (
        <rect key={from} class="fold" x={percent(from)} width={percent(to - from)} height={high} />
      ))}
      {marks.map((mark, index) => (
        <MarkBar
          key={mark.id ?? `${mark.look} ${mark.fromMs} ${mark.isToCome}`}
          {...{ mark, axis, index }}
          of={isStack ? marks.length : 1}
        />
      ))}
      {nowMs !== undefined && <Now at={axis.at(nowMs)} />}
      {attempt?.error != null && <Beside text={attempt.error} mark={marks[0]} axis={axis} />}
    </svg>
  );
}

const Now = ({ at }: { at: number }) => <line class="now" x1={percent(at)} x2={percent(at)} y1="0" y2={high} />;

interface MarkProps {
  mark: Mark;
  axis: Axis;
  index: number;
  /** Bars that stand one below the other. 1: all are on one height. */
  of: number;
}

function MarkBar({ mark, axis, index, of }: MarkProps) {
  const { look, isToCome } = mark;
  const from = axis.at(mark.fromMs);
  const to = Math.max(axis.at(mark.toMs), from);
  const wide = Math.max(leastWide, to - from);
  const x = percent(Math.min(from, 100 - wide));
  const isThin = mark.isWait;
  const height = of > 1 ? Math.max(1, Math.min(5, (high - 6) / of)) : look === "held" ? 2 : isThin ? 6 : 12;
  const y = of > 1 ? 3 + (index * (high - 6 - height)) / (of - 1) : middle - height / 2;
  const folds = isThin ? axis.folds.filter((fold) => fold.from >= from - 0.01 && fold.to <= to + 0.01) : [];
  return (
    <>
      <rect class={`m-${look}${isToCome ? " to-come" : ""}`} {...{ x, y, height }} width={percent(wide)} rx="2" />
      {!isToCome &&
        folds.map((fold) => (
          <svg key={fold.from} class="cut" aria-hidden="true" x={percent((fold.from + fold.to) / 2)} y={middle - 8}>
            <path d="M-4 14l4-12M0 14l4-12" />
          </svg>
        ))}
    </>
  );
}

/** An error stands behind its bar, or before it where there is no room behind it. */
function Beside({ text, mark, axis }: { text: string; mark: Mark | undefined; axis: Axis }) {
  if (mark === undefined) return null;
  const [from, to] = [axis.at(mark.fromMs), axis.at(mark.toMs)];
  const isBefore = from > 100 - to;
  if (Math.max(from, 100 - to) < leastRoom) return null;
  const place = isBefore ? from : to;
  const words = visible(text.length > longestBeside ? `${text.slice(0, longestBeside)}…` : text);
  return (
    <text x={percent(place)} dx={isBefore ? -7 : 7} y={middle + 4} text-anchor={isBefore ? "end" : "start"}>
      {words}
    </text>
  );
}

/** The clock at the start of the story, of its attempts, and now. */
export function Ticks({ axis, nowMs, lines }: OnAxis & { lines: readonly Line[] }) {
  const starts = lines.filter(({ isPart }) => !isPart).flatMap(({ marks }) => (marks[0] ? [marks[0].fromMs] : []));
  const ends = lines.flatMap(({ marks }) => marks.filter(({ isToCome }) => isToCome).map(({ toMs }) => toMs));
  const isLong = axis.toMs - axis.fromMs > 20 * 3_600_000;
  return (
    <svg class="lane ticks" width="100%" height="22" aria-hidden="true">
      {ticksOf(axis, [axis.fromMs, ...starts, ...ends], isLong ? tickPercent * 1.6 : tickPercent).map((ms) => (
        <text key={ms} x={percent(axis.at(ms))} dx="3" y="15">
          {clockText(ms, isLong)}
        </text>
      ))}
      {nowMs !== undefined && <Now at={axis.at(nowMs)} />}
    </svg>
  );
}

const clockText = (ms: number, hasDay: boolean): string =>
  new Date(ms).toLocaleString(undefined, {
    ...(hasDay && { month: "short", day: "2-digit" }),
    ...{
      hour: "2-digit",
      minute: "2-digit",
      ...(!hasDay && { second: "2-digit" as const }),
      hourCycle: "h23" as const,
    },
  });
