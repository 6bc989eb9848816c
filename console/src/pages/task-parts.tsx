import type { TaskLogView, WebhookTries } from "../../../src/api/acts/views.ts";
import { ProblemError } from "../../../src/client/errors.ts";
import type { StepView } from "../../../src/core/control/stored-parts.ts";
import type { LogLine } from "../../../src/core/control/task-log.ts";
import type { TaskView } from "../../../src/core/model/task-view.ts";
import { bytes, count, duration, localTime } from "../format.ts";
import type { Loaded } from "../load.ts";
import { Action } from "../parts/action.tsx";
import { Json } from "../parts/json.tsx";
import { Answer, Facts, Nothing, ReadAgain, Section } from "../parts/layout.tsx";
import { Table } from "../parts/table.tsx";
import { Id, Text, Time } from "../parts/text.tsx";
import { href } from "../route.ts";
import { api, chosenTenant, may } from "../session.ts";
import { stateOf, taskPath, useTaskPart } from "./task-data.ts";

export interface StepList {
  steps: readonly StepView[];
}

/** Steps, sleeps, waits, signals and the checkpoint of a task. Most tasks have none. */
export function Steps({ of: steps }: { of: Loaded<StepList> }) {
  if (steps.value !== undefined && steps.value.steps.length === 0) return null;
  return (
    <Section title="Steps">
      <Answer of={steps}>{(answer) => <StepTable of={answer.steps} />}</Answer>
    </Section>
  );
}

const StepTable = ({ of }: { of: readonly StepView[] }) => (
  <Table
    label="Steps"
    rows={of}
    keyOf={({ kind, name }) => `${kind} ${name}`}
    columns={[
      { name: "Kind", cell: ({ kind }) => kind },
      { name: "Name", cell: ({ name }) => <Text of={name} most={128} /> },
      { name: "Time", cell: (step) => <StepTime of={step} /> },
      { name: "Result", cell: (step) => <StepResult of={step} /> },
    ]}
  />
);

function StepTime({ of: { until, attempt } }: { of: StepView }) {
  return (
    <>
      {until !== null && (
        <>
          until <Time at={until} />
        </>
      )}
      {attempt !== null && <span class="muted"> attempt {attempt}</span>}
    </>
  );
}

function StepResult({ of: { result, result_bytes, timed_out, name, error } }: { of: StepView }) {
  if (error != null) return <Text of={`failed: ${error}`} most={300} />;
  if (timed_out) return <span class="muted">timed out</span>;
  if (result !== undefined && result !== null) {
    const text = JSON.stringify(result);
    return text.length <= 120 ? <code>{<Text of={text} />}</code> : <Json of={result} label={`Result of ${name}`} />;
  }
  return result_bytes ? <span class="muted">{bytes(result_bytes)}, not shown</span> : <span class="muted">–</span>;
}

/** The input of a task, while it is kept. */
export function Input({ task }: { task: TaskView }) {
  const input = useTaskPart<{ input: unknown }>(task, "/input", stateOf(task));
  return (
    <Section title="Input">
      {input.value === undefined && input.error !== undefined ? (
        // Most tasks that have ended have no input any more: that is no fault.
        <Nothing>
          <Text of={wordsOf(input.error)} />
        </Nothing>
      ) : (
        <Answer of={{ ...input, error: undefined }}>{(answer) => <Json of={answer.input} label="Input" />}</Answer>
      )}
    </Section>
  );
}

/** Lines of a log on the page, at most: the command line has all. */
const linesShown = 1_000;

/** The lines that the handler wrote, and Offload's own lines of the task. */
export function Log({ task }: { task: TaskView }) {
  const log = useTaskPart<TaskLogView>(task, `/logs?limit=${linesShown}`, stateOf(task));
  return (
    <Section title="Log" actions={<ReadAgain of={log} />}>
      <Answer of={log}>
        {({ lines, complete }) => (
          <>
            {lines.length === 0 ? <Nothing>No line can be read yet.</Nothing> : <Lines of={lines} />}
            {!complete && lines.length === linesShown && (
              <p class="muted">These are the first {count(linesShown)} lines: `offload tasks logs` prints all.</p>
            )}
          </>
        )}
      </Answer>
    </Section>
  );
}

const Lines = ({ of }: { of: readonly LogLine[] }) => (
  <Table
    label="Log of the task"
    rows={of.map((line, index) => ({ ...line, index }))}
    keyOf={({ index }) => String(index)}
    columns={[
      { name: "Time", cell: ({ at }) => <LineTime at={at} /> },
      { name: "Level", cell: ({ level }) => level },
      { name: "Attempt", cell: ({ attempt }) => attempt ?? "–", numeric: true },
      { name: "Message", cell: ({ message }) => <Text of={message} most={1_000} /> },
      { name: "Fields", cell: ({ fields }) => <Text of={fieldsText(fields)} most={300} /> },
    ]}
  />
);

const lineClock = {
  ...({ hour: "2-digit", minute: "2-digit", second: "2-digit", hourCycle: "h23" } as const),
  fractionalSecondDigits: 3,
} as const;

/** The clock of a line, to the millisecond. The day is in its title. */
const LineTime = ({ at }: { at: string }) => (
  <time class="code nowrap" dateTime={at} title={`${localTime(at)} (${at})`}>
    {new Date(at).toLocaleTimeString(undefined, lineClock)}
  </time>
);

/** Fields that are the same in each line of a task are left out, and the stack, which stands beside the error. */
const fieldsText = (fields: LogLine["fields"]): string =>
  Object.entries(fields)
    .filter(([name]) => !["type", "tier", "correlation_id", "trace_id", "stack"].includes(name))
    .map(([name, value]) => `${name}=${typeof value === "string" ? value : JSON.stringify(value)}`)
    .join(" ");

/** The API's sentence, without its codes. */
const wordsOf = (error: Error): string => (error instanceof ProblemError ? error.detail : error.message);

/** The tries of a task's webhook. Tasks without a webhook have no such part. */
export function Deliveries({ task, of: tries }: { task: TaskView; of: Loaded<WebhookTries> }) {
  if (tries.value === undefined ? tries.error === undefined : tries.value.deliveries.length === 0) return null;
  const again = () => api.send("POST", taskPath(task.task_id, "/deliveries/redeliver"), {}).then(tries.reload);
  return (
    <Section
      title="Webhook"
      actions={
        <>
          <ReadAgain of={tries} />
          <Action run={again} done="The webhook is sent again.">
            Send again
          </Action>
        </>
      }
    >
      <Answer of={tries}>{(answer) => <Tries of={answer} />}</Answer>
    </Section>
  );
}

const Tries = ({ of: { state, next_try_at, deliveries } }: { of: WebhookTries }) => (
  <>
    <Facts of={[["State", state ?? "–"], next_try_at !== null && ["Next try", <Time key="next" at={next_try_at} />]]} />
    <Table
      label="Tries of the webhook"
      rows={deliveries.slice(-100)}
      keyOf={({ webhook_id, number }) => `${webhook_id} ${number}`}
      columns={[
        { name: "Try", cell: ({ number }) => number, numeric: true },
        { name: "Time", cell: ({ at }) => <Time at={at} /> },
        { name: "Took", cell: ({ duration_ms }) => duration(duration_ms), numeric: true },
        { name: "Answer", cell: ({ status, error }) => status ?? (error && <Text of={error} most={200} />) },
      ]}
    />
  </>
);

/** For whom the task is, where it comes from, and its times. */
export function TaskFacts({ task }: { task: TaskView }) {
  const keep = { tenant: chosenTenant.value };
  const time = (name: string, at: string | null) => at !== null && ([name, <Time key={name} at={at} exact />] as const);
  return (
    <Section title="Facts">
      <Facts
        of={[
          [
            "Correlation id",
            <a key="link" href={href(["tasks"], { ...keep, q: task.correlation_id })}>
              <Text of={task.correlation_id} most={128} />
            </a>,
          ],
          task.schedule_id !== null && [
            "Schedule",
            may("operator") ? (
              <a key="link" href={href(["schedules", task.schedule_id], keep)}>
                <Text of={task.schedule_id} />
              </a>
            ) : (
              task.schedule_id
            ),
          ],
          task.parent_id !== null && [
            "Parent",
            <a key="link" href={href(["tasks", task.parent_id], keep)}>
              <Id of={task.parent_id} />
            </a>,
          ],
          task.caused_by != null && [
            "Runs the onFailed of",
            <a key="link" href={href(["tasks", task.caused_by], keep)}>
              <Id of={task.caused_by} />
            </a>,
          ],
          ["Priority", task.priority],
          time("Scheduled for", task.scheduled_for),
          time("Ended", task.finished_at),
          time("Expires if not started", task.expires_at),
          time("Kept until", task.retained_until),
        ]}
      />
    </Section>
  );
}
