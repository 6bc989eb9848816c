import { useSignal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import type { TypeView } from "../../../src/api/acts/views.ts";
import type { TaskView } from "../../../src/core/model/task-view.ts";
import { tiers } from "../../../src/core/model/words.ts";
import { hasGoneOnAt, nextTimeOf } from "../../../src/util/next-time.ts";
import { nowMs } from "../clock.ts";
import { localInput, localTime } from "../format.ts";
import { parsed } from "../json-text.ts";
import { FormDialog } from "../parts/dialog.tsx";
import { ChoiceField, TextField } from "../parts/field.tsx";
import { Time } from "../parts/text.tsx";
import { config, may, mayChange } from "../session.ts";
import { setting } from "../signals.ts";
import { hasEnded } from "./task-data.ts";
import { JsonField, type TaskDialog, TaskForm } from "./task-form.tsx";
import { ReplayDialog } from "./task-replay.tsx";

type Name = "now" | "reschedule" | "clock" | "cancel" | "retry" | "replay" | "priority" | "signal" | "extend";

const dialogs: Readonly<Record<Name, (props: TaskDialog) => ComponentChildren>> = {
  now: (props) => <RunNowDialog {...props} />,
  reschedule: (props) => <RescheduleDialog {...props} />,
  clock: (props) => <ClockDialog {...props} />,
  cancel: (props) => <CancelDialog {...props} />,
  retry: (props) => <RetryDialog {...props} />,
  replay: (props) => <ReplayDialog {...props} />,
  priority: (props) => <PriorityDialog {...props} />,
  signal: (props) => <SignalDialog {...props} />,
  extend: (props) => <ExtendDialog {...props} />,
};

/** The acts that the task's state allows. */
function allowed(task: TaskView, type: TypeView | undefined): [Name, string][] {
  const { status, waiting_for } = task;
  const waits = status === "pending" || status === "scheduled";
  const all: [Name, string, boolean][] = [
    ["now", "Run now …", waits && (isWaitingForTime(task) || (waiting_for?.kind === "sleep" && may("operator")))],
    // A submitter moves only what has not started.
    ["reschedule", "Reschedule …", isWaitingForTime(task) && (status === "scheduled" || may("operator"))],
    ["clock", "Move the clock until it goes on …", config.value?.local === true && clockTimeOf(task) !== undefined],
    ["retry", "Retry …", status === "failed"],
    ["replay", "Edit input and replay …", status === "failed"],
    ["signal", "Send signal …", waiting_for?.kind === "signal"],
    ["priority", "Change priority …", waits],
    ["extend", "Keep longer …", true],
    ["cancel", "Cancel …", !hasEnded(task) && type?.cancellable !== false],
  ];
  return !mayChange() ? [] : all.flatMap(([name, text, is]) => (is ? [[name, text]] : []));
}

/** The time to which the clock has to go for the task to go on. Undefined: the task waits for none. */
function clockTimeOf(task: TaskView): string | undefined {
  const next = nextTimeOf(task);
  return next !== undefined && Date.parse(next) > nowMs() ? hasGoneOnAt(next) : undefined;
}

/** One safe button is filled; what destroys is outlined in red. */
const classes: { readonly [Act in Name]?: string } = { now: "primary", retry: "primary", cancel: "danger" };

/** True when the task waits for its time, and for nothing else: a delay, or a wait before another attempt. */
const isWaitingForTime = ({ status, waiting_for, next_attempt_at: next }: TaskView): boolean =>
  waiting_for === null &&
  (status === "scheduled" || (status === "pending" && next !== null && Date.parse(next) > nowMs()));

/** The buttons for what can be done with a task now. Each asks first. */
export function TaskActions(props: Omit<TaskDialog, "onClose">) {
  const open = useSignal<Name | undefined>(undefined);
  const onClose = () => {
    open.value = undefined;
  };
  return (
    <>
      {allowed(props.task, props.type).map(([name, text]) => (
        <button key={name} type="button" class={classes[name]} onClick={setting(open, name)}>
          {text}
        </button>
      ))}
      {open.value !== undefined && dialogs[open.value]({ ...props, onClose })}
    </>
  );
}

const nothing = () => ({});

function RunNowDialog(props: TaskDialog) {
  return (
    <TaskForm
      {...{ props, body: nothing, part: "/run-now" }}
      title="Run the task now"
      action="Run now"
      done="The task is due."
    >
      <p>
        {props.task.waiting_for?.kind === "sleep"
          ? "The handler's sleep ends now, and the handler goes on."
          : "The task does not wait for its time."}{" "}
        A place, a rate or a pause that it has to wait for is not skipped.
      </p>
    </TaskForm>
  );
}

/** Moves the time for which the task waits. */
function RescheduleDialog(props: TaskDialog) {
  const from = nextTimeOf(props.task);
  const at = useSignal(localInput(from));
  const isRetry = props.task.status === "pending";
  const check = () => {
    const ms = Date.parse(at.value);
    if (Number.isNaN(ms)) throw new Error("Choose a date and a time.");
    if (ms > nowMs()) return;
    const present = localTime(new Date(nowMs()).toISOString());
    throw new Error(`${localTime(new Date(ms).toISOString())} is in the past. Choose a time after ${present}.`);
  };
  return (
    <TaskForm
      {...{ props, check, part: "/reschedule" }}
      title={isRetry ? "Move the next attempt" : "Move the start of the task"}
      action="Move it"
      body={() => ({ run_at: Number.isNaN(Date.parse(at.value)) ? at.value : new Date(at.value).toISOString() })}
      done={isRetry ? "The next attempt has another time." : "The task has another start."}
    >
      <p>
        It is due <Time at={from} exact />. {isRetry ? "The attempt" : "The task"} does not start before the new time.
        {!isRetry && " A time limit that counts from the start moves with it."}
      </p>
      <TextField label="Starts at (your clock)" value={at} type="datetime-local" required />
    </TaskForm>
  );
}

function ClockDialog({ task, onClose, onChange }: TaskDialog) {
  const at = clockTimeOf(task);
  const run = async () => {
    await (await import("../parts/server-clock.tsx")).moveClock({ at });
    onChange();
  };
  return (
    <FormDialog title="Move the server's clock" action="Move it forward" onClose={onClose} run={run}>
      <p>
        To <Time at={at} exact />, when this task goes on. All else that is due until then happens, too.
      </p>
    </FormDialog>
  );
}

function CancelDialog(props: TaskDialog) {
  const isRunning = props.task.status === "processing";
  const now = useSignal(false);
  return (
    <TaskForm
      {...{ props, body: () => (now.value ? { now: true } : {}), part: "/cancel", danger: true }}
      title="Cancel the task"
      action="Cancel the task"
      done={isRunning ? "The handler is told to stop." : "The task is cancelled."}
    >
      <p>
        {isRunning
          ? "The handler is told to stop within a few seconds. Its result is discarded, and no further attempt follows."
          : "The task ends now, and its handler is not called any more."}
        {props.task.children !== null && " Its open children are cancelled, too."}
      </p>
      {may("operator") && (isRunning || props.task.children !== null) && (
        <label class="check">
          <input
            type="checkbox"
            checked={now.value}
            onChange={({ currentTarget }) => {
              now.value = currentTarget.checked;
            }}
          />
          End its process if it has not stopped after 5 seconds. Other tasks in that process start again elsewhere.
        </label>
      )}
    </TaskForm>
  );
}

function RetryDialog(props: TaskDialog) {
  return (
    <TaskForm
      {...{ props, body: nothing, part: "/retry" }}
      title="Retry the task"
      action="Retry"
      done="The task starts a new round."
    >
      <p>
        The task starts a new round with the same input and up to {props.task.max_attempts} attempts. It leaves the dead
        letters. Attempts of earlier rounds stay in its history.
        {props.task.error_kind === "children_failed" && " Only the children that did not complete start again."}
      </p>
    </TaskForm>
  );
}

function PriorityDialog(props: TaskDialog) {
  const { priority } = props.task;
  const chosen = useSignal<string>(tiers.find((tier) => tier !== priority) ?? priority);
  return (
    <TaskForm
      {...{ props, part: "/priority" }}
      title="Change the priority"
      action="Change"
      body={() => ({ priority: chosen.value })}
      done={`The task is in the tier ${chosen.value}.`}
    >
      <p>The task moves from the tier {priority} to another one. It runs once.</p>
      <ChoiceField
        label="Priority"
        value={chosen}
        options={tiers.filter((tier) => tier !== priority).map((tier) => [tier, tier])}
      />
    </TaskForm>
  );
}

function SignalDialog(props: TaskDialog) {
  const { waiting_for } = props.task;
  const names = useSignal(waiting_for?.kind === "signal" ? waiting_for.signals : []).value;
  const name = useSignal(names[0] ?? "");
  const text = useSignal("{}");
  return (
    <TaskForm
      {...{ props, body: () => parsed(text.value), part: `/signals/${encodeURIComponent(name.value)}` }}
      title="Send a signal"
      action="Send"
      done="The signal is sent."
    >
      <p>The task goes on with the body as the signal's value. A signal cannot be taken back.</p>
      <ChoiceField label="Signal" value={name} options={names.map((one) => [one, one])} />
      <JsonField label="Body as JSON" value={text} rows={6} />
    </TaskForm>
  );
}

const dayS = 86_400;

function ExtendDialog(props: TaskDialog) {
  const days = useSignal("7");
  const { retained_until } = props.task;
  return (
    <TaskForm
      {...{ props, part: "/extend" }}
      title="Keep the task longer"
      action="Keep"
      body={() => ({ retention_seconds: Math.round(Number(days.value) * dayS) })}
      done="The task is kept for at least this time."
    >
      <p>
        The task is kept, with its result and its files, at least for this time from now on. It is never kept shorter
        than now
        {retained_until === null ? "." : ", which is until "}
        {retained_until !== null && <Time at={retained_until} exact />}
      </p>
      <TextField label="Days (at most 30)" value={days} type="number" required />
    </TaskForm>
  );
}
