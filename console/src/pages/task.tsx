import { useEffect } from "preact/hooks";
import type { WebhookTries } from "../../../src/api/acts/views.ts";
import type { TaskView } from "../../../src/core/model/task-view.ts";
import type { AttemptView } from "../../../src/core/pipeline/end/view.ts";
import { type Loaded, useLoad } from "../load.ts";
import { Curl } from "../parts/curl.tsx";
import { Answer, Failure, Page } from "../parts/layout.tsx";
import { Id, Text, Time } from "../parts/text.tsx";
import { href, replaceWith } from "../route.ts";
import { api, chosenTenant, config, may, maySeeInputs, tenant } from "../session.ts";
import { useTaskTypes } from "../task-types.ts";
import { TaskActions } from "./task-actions.tsx";
import { hasEnded, stateOf, taskPath, useAgain, useTask, useTaskPart } from "./task-data.ts";
import { Family } from "./task-family.tsx";
import { Deliveries, Input, Log, type StepList, Steps, TaskFacts } from "./task-parts.tsx";
import { Result } from "./task-result.tsx";
import { TaskStatus } from "./task-state.tsx";
import { Timeline } from "./task-timeline.tsx";
import { TraceSection } from "./task-trace.tsx";
import { Trouble } from "./task-trouble.tsx";

/** After a change, an answer can come from a replica that does not have it yet, for this time in milliseconds. */
const replicaMs = 1_500;

/** One task: why it is not done, what happened, and what can be done with it. */
export function TaskPage({ taskId }: { taskId: string }) {
  const task = useTask(taskId);
  const types = useTaskTypes();
  const foundId = task.value?.task_id;
  useEffect(() => {
    // `~type:key` addresses the newest task of a key. The page stays with the task that it found.
    if (foundId === undefined || foundId === taskId) return;
    replaceWith("", href(["tasks", foundId], { tenant: chosenTenant.value }));
  }, [foundId]);
  const onChange = () => {
    task.reload();
    setTimeout(task.reload, replicaMs);
  };
  const type = types.value?.types.find(({ name }) => name === task.value?.type);
  return (
    <Page
      title={task.value?.type ?? "Task"}
      about={<a href={href(["tasks"], { tenant: chosenTenant.value })}>Tasks</a>}
      state={task.value?.status}
      actions={task.value && <TaskActions task={task.value} {...{ type, onChange }} />}
    >
      <Answer of={task}>{(view) => <Parts task={view} />}</Answer>
      <Curl of={{ path: taskPath(taskId) }} />
    </Page>
  );
}

function Parts({ task }: { task: TaskView }) {
  const attempts = useTaskPart<{ attempts: AttemptView[] }>(task, "/attempts", stateOf(task));
  const steps = useSteps(task);
  const tries = useTaskPart<WebhookTries>(task, "/deliveries", stateOf(task));
  const children = useChildren(task);
  const list = attempts.value?.attempts ?? [];
  return (
    <>
      <Head task={task} />
      <Trouble task={task} attempts={list} />
      {attempts.error !== undefined && <Failure error={attempts.error} />}
      <Result task={task} />
      <Timeline
        {...{ task, attempts: list }}
        steps={steps.value?.steps ?? []}
        children={children.value?.tasks ?? []}
        tries={tries.value?.deliveries ?? []}
      />
      <div class="task-columns">
        <div class="column">
          {may("viewer") && <Steps of={steps} />}
          {may("viewer") && maySeeInputs() && <Log task={task} />}
          <Deliveries task={task} of={tries} />
        </div>
        <div class="column">
          <Family task={task} />
          {maySeeInputs() && <Input task={task} />}
          <TaskFacts task={task} />
        </div>
      </div>
      {config.value?.local && <TraceSection task={task} />}
    </>
  );
}

/** The steps of a task. A caller who may not read them asks for none. */
const useSteps = (task: TaskView): Loaded<StepList> => {
  const loaded = useLoad<StepList>(`steps ${task.task_id} ${tenant.value}`, async (signal) =>
    may("viewer") ? api.get<StepList>(taskPath(task.task_id, "/steps"), undefined, { signal }) : { steps: [] },
  );
  useAgain(hasEnded(task) ? stateOf(task) : task.updated_at, loaded.reload);
  return loaded;
};

/** The first children, for the timeline. Nothing is asked about a task without children. */
const useChildren = (task: TaskView): Loaded<{ tasks: TaskView[] }> => {
  const { task_id: taskId, children } = task;
  const loaded = useLoad<{ tasks: TaskView[] }>(
    `children ${taskId} ${children !== null} ${tenant.value}`,
    async (signal) =>
      children === null ? { tasks: [] } : api.get(taskPath(taskId, "/children"), { limit: 100 }, { signal }),
  );
  useAgain(JSON.stringify(children), loaded.reload);
  return loaded;
};

function Head({ task }: { task: TaskView }) {
  const { task_id, tags, created_at, requested_by, parent_id, priority } = task;
  const keep = { tenant: chosenTenant.value };
  return (
    <div class="task-head">
      <span role="status" class="pill">
        <TaskStatus of={task} />
        {task.status === "processing" && task.progress !== null && ` ${task.progress} %`}
      </span>
      <span>
        <Text of={tenant.value} most={64} />
      </span>
      <Id of={task_id} />
      {Object.entries(tags).map(([name, value]) => (
        <a key={name} class="tag" href={href(["tasks"], { ...keep, tag: `${name}=${value}` })}>
          <Text of={`${name}=${value}`} most={80} />
        </a>
      ))}
      <span class="muted">
        Submitted <Time at={created_at} exact /> by{" "}
        {parent_id === null ? (
          <Text of={requested_by} most={64} />
        ) : (
          <a href={href(["tasks", parent_id], keep)}>its parent</a>
        )}
      </span>
      <span class="muted">Tier {priority}</span>
    </div>
  );
}
