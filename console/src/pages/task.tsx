import type { AttemptView } from "../../../src/core/end/view.ts";
import type { TaskView } from "../../../src/core/model/task-view.ts";
import { Curl } from "../parts/curl.tsx";
import { Answer, Failure, Page } from "../parts/layout.tsx";
import { Id, Text } from "../parts/text.tsx";
import { href } from "../route.ts";
import { chosenTenant, config, may, maySeeInputs } from "../session.ts";
import { useTaskTypes } from "../task-types.ts";
import { TaskActions } from "./task-actions.tsx";
import { Children } from "./task-children.tsx";
import { stateOf, taskPath, useTask, useTaskPart } from "./task-data.ts";
import { Deliveries, Input, Log, Steps, TaskFacts } from "./task-parts.tsx";
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
  const list = attempts.value?.attempts ?? [];
  return (
    <>
      <Head task={task} />
      <Trouble task={task} attempts={list} />
      {attempts.error !== undefined && <Failure error={attempts.error} />}
      <Result task={task} />
      <Timeline task={task} attempts={list} />
      <Children task={task} />
      {may("viewer") && <Steps task={task} />}
      {may("viewer") && maySeeInputs() && <Log task={task} />}
      {maySeeInputs() && <Input task={task} />}
      <Deliveries task={task} />
      <TaskFacts task={task} />
      {config.value?.local && <TraceSection task={task} />}
    </>
  );
}

function Head({ task }: { task: TaskView }) {
  const { task_id, tags } = task;
  const keep = { tenant: chosenTenant.value };
  return (
    <div class="task-head">
      <span role="status" class="pill">
        <TaskStatus of={task} />
        {task.status === "processing" && task.progress !== null && ` ${task.progress} %`}
      </span>
      <Id of={task_id} />
      {Object.entries(tags).map(([name, value]) => (
        <a key={name} class="tag" href={href(["tasks"], { ...keep, tag: `${name}=${value}` })}>
          <Text of={`${name}=${value}`} most={80} />
        </a>
      ))}
    </div>
  );
}
