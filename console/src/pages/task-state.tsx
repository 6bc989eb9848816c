import type { WaitView } from "../../../src/core/model/suspension.ts";
import type { TaskView } from "../../../src/core/model/task-view.ts";
import { nowMs } from "../clock.ts";
import { count } from "../format.ts";
import { Status, Text, Time } from "../parts/text.tsx";

/** True for a parent whose children have ended, and which has not: nothing is tried again. */
export const isClosing = ({ status, children, error }: TaskView): boolean =>
  (status === "pending" || status === "processing") &&
  error === null &&
  children?.sealed === true &&
  children.total > 0 &&
  children.open === 0;

/** The state of a task as people see it: `pending` says more by what the task waits for. */
export function stateOfTask({ status, waiting_for: wait, error, next_attempt_at: next }: TaskView): string {
  if (status !== "pending") return status;
  if (wait?.kind === "sleep") return "asleep";
  if (wait?.kind === "pause") return "paused";
  if (wait?.kind === "breaker") return "breaker";
  if (wait !== null) return "waiting";
  return error !== null && next !== null && Date.parse(next) > nowMs() ? "retrying" : status;
}

const words: Readonly<Record<string, string>> = { processing: "running", breaker: "breaker open" };

export function TaskStatus({ of }: { of: TaskView }) {
  const state = stateOfTask(of);
  return <Status of={state} word={words[state] ?? state} />;
}

/** The answer to the next question about a task in its state: how far, until when, for what, why. */
export function WhatHappens({ of: task }: { of: TaskView }) {
  const { status, error, waiting_for: wait } = task;
  if (stateOfTask(task) === "retrying") {
    return (
      <>
        <Time at={task.next_attempt_at} />, after <Text of={error ?? ""} most={200} />
      </>
    );
  }
  if (status === "scheduled") return <Time at={task.run_at} />;
  if (wait !== null) return <Wait of={wait} />;
  if (isClosing(task)) return <>closing: its {count(task.children?.total ?? 0)} children have ended</>;
  if (status === "processing") return <Progress of={task} />;
  if (error !== null) {
    return (
      <span class={status === "failed" ? "bad" : undefined}>
        <Text of={error} most={200} />
      </span>
    );
  }
  if (status === "completed" && task.children?.sealed) return <>{count(task.children.completed)} children completed</>;
  if (status === "completed" && task.attempts > 1) return <>after {count(task.attempts)} attempts</>;
  return status === "pending" ? <>in the tier {task.priority}</> : null;
}

function Wait({ of: wait }: { of: WaitView }) {
  switch (wait.kind) {
    case "child":
      return <>for the end of {wait.children.length === 1 ? "a child" : "children"}</>;
    case "signal":
      return <Text of={`for ${wait.signals.join(" or ")}`} most={80} />;
    case "concurrency":
      return wait.order === undefined ? <>for a place of its limit</> : <>for the task before it</>;
    case "rate":
      return (
        <>
          for its rate
          {wait.next_start_at !== undefined && (
            <>
              , next start <Time at={wait.next_start_at} />
            </>
          )}
        </>
      );
    case "unique":
      return <>for the task that had its key</>;
    case "pause":
      return <>the {wait.of} is paused</>;
    case "sleep":
      return <Time at={wait.until} />;
    case "step":
      return (
        <>
          for step <Text of={wait.step} most={60} />, <Time at={wait.until} />
        </>
      );
    case "breaker":
      return <>one task tries now and then</>;
  }
}

const Progress = ({ of: { progress, progress_message: message, children } }: { of: TaskView }) => (
  <>
    {progress !== null && `${progress} % `}
    {message != null && <Text of={message} most={200} />}
    {children !== null && children.open > 0 && ` ${count(children.open)} of ${count(children.total)} children open`}
  </>
);
