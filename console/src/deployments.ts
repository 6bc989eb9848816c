import type { Deployment } from "../../src/core/schedules/ports.ts";

/**
 * The last deployment, where one before it is known: what has failed since the first one says nothing about it. The
 * clock of a local server may have been set back.
 * @param deployments Newest first.
 */
export function lastOf(deployments: readonly Deployment[], nowMs: number): Deployment | undefined {
  const [last, before] = deployments.filter(({ started_at }) => Date.parse(started_at) <= nowMs);
  return before === undefined ? undefined : last;
}

/** Groups of dead letters, as far as they were read. */
interface Groups<Group> {
  groups: readonly Group[];
  complete: boolean;
}

/**
 * The groups whose tasks have all failed since a deployment. Undefined where it cannot be known: there is no deployment
 * to compare with, or older dead letters were not read.
 */
export const newSince = <Group extends { first_failed_at: string }>(
  last: Deployment | undefined,
  { groups, complete }: Groups<Group>,
): Group[] | undefined =>
  last === undefined || !complete
    ? undefined
    : groups.filter(({ first_failed_at }) => first_failed_at >= last.started_at);

/** A time of the day on the reader's clock, with its day unless it is today. */
export function timeOfDay(iso: string, nowMs: number): string {
  const at = new Date(iso);
  const isToday = at.toDateString() === new Date(nowMs).toDateString();
  const day = isToday ? {} : ({ month: "short", day: "2-digit" } as const);
  return at.toLocaleString(undefined, { ...day, hour: "2-digit", minute: "2-digit", hourCycle: "h23" });
}

/** A deployment in a sentence: `the deployment of 14:02`. */
export const deploymentName = ({ started_at, rolled_back }: Deployment, nowMs: number): string =>
  `the ${rolled_back ? "roll-back" : "deployment"} of ${timeOfDay(started_at, nowMs)}`;

/** A deployment in a picture of times. */
export interface Mark {
  id: string;
  /** Percent of the picture's width, from the left. */
  at: number;
  text: string;
  /** False: its text would cover that of a later one, or reach over an edge. */
  isWritten: boolean;
}

/** Percent of the width that a text takes, and that the scale's own text takes at the left. */
const textWidth = 14;

/** The deployments of a picture's time, newest first. A deployment of the last period stands at the right edge. */
export function marksIn(deployments: readonly Deployment[], fromMs: number, toMs: number, nowMs: number): Mark[] {
  const marks: Mark[] = [];
  let right = 200;
  for (const deployment of deployments) {
    const { started_at: id, rolled_back } = deployment;
    const atMs = Date.parse(id);
    if (atMs < fromMs || atMs > nowMs) continue;
    const at = Math.min(100, (100 * (atMs - fromMs)) / Math.max(1, toMs - fromMs));
    const isWritten = at >= textWidth && right - at >= textWidth;
    if (isWritten) right = at;
    const text = timeOfDay(id, nowMs) + (rolled_back ? " (rolled back)" : "");
    marks.push({ id, at: Math.round(at * 10) / 10, text, isWritten });
  }
  return marks;
}

/** The deployments that are named at most. */
const mostNamed = 3;

/** The marks in words, for the legend: `deployments at 14:02, 13:10 and 2 more`. */
export function marksText(marks: readonly Mark[]): string {
  const named = marks.slice(0, mostNamed).map(({ text }) => text);
  const more = marks.length > mostNamed ? ` and ${marks.length - mostNamed} more` : "";
  return `${marks.length === 1 ? "deployment" : "deployments"} at ${named.join(", ")}${more}`;
}
