import { useSignal } from "@preact/signals";
import { type Status as StatusName, statuses } from "../../../src/core/model/status.ts";
import type { ChildrenView, TaskView } from "../../../src/core/model/task-view.ts";
import { count } from "../format.ts";
import { Curl } from "../parts/curl.tsx";
import { Facts, Section } from "../parts/layout.tsx";
import { Options } from "../parts/options.tsx";
import { PagedRows, usePaged } from "../parts/paged.tsx";
import { Status, Text, Time } from "../parts/text.tsx";
import { href } from "../route.ts";
import { chosenTenant } from "../session.ts";
import { toggling } from "../signals.ts";
import { taskPath, useAgain } from "./task-data.ts";

/** The children of a task: their numbers, and a tree whose levels are read when they are opened. */
export function Children({ task }: { task: TaskView }) {
  const status = useSignal<StatusName | "">("");
  if (task.children === null) return null;
  const path = taskPath(task.task_id, "/children");
  const query = status.value === "" ? {} : { status: status.value };
  return (
    <Section
      title="Children"
      actions={
        <label>
          Status
          <select
            value={status.value}
            onChange={(event) => {
              status.value = event.currentTarget.value as StatusName | "";
            }}
          >
            <option value="">all</option>
            <Options of={statuses} />
          </select>
        </label>
      }
    >
      <Counts of={task.children} />
      <Level taskId={task.task_id} status={status.value} state={JSON.stringify(task.children)} />
      <Curl of={{ path, query }} />
    </Section>
  );
}

const Counts = ({ of }: { of: ChildrenView }) => (
  <Facts
    of={[
      ["Total", `${count(of.total)}${of.sealed ? "" : ", and the handler still spawns"}`],
      ["Open", count(of.open)],
      ["Completed", count(of.completed)],
      ["Failed", count(of.failed)],
      ["Cancelled", count(of.cancelled)],
      ["Expired", count(of.expired)],
    ]}
  />
);

/** Rows of one answer. A reader who has asked for more reads again by hand. */
const firstRows = 100;

/** The children of one task. @param state They are read again when it changes. */
function Level({ taskId, status, state }: { taskId: string; status: StatusName | ""; state: string }) {
  const children = usePaged<TaskView>(taskPath(taskId, "/children"), "tasks", status === "" ? {} : { status });
  useAgain(state, () => {
    if (children.rows.length <= firstRows) children.reload();
  });
  return (
    <PagedRows of={children} nothing={status === "" ? "It has no children yet." : `No child is ${status}.`}>
      {(rows) => (
        <ul class="children">
          {rows.map((child) => (
            <Child key={child.task_id} task={child} />
          ))}
        </ul>
      )}
    </PagedRows>
  );
}

function Child({ task }: { task: TaskView }) {
  const open = useSignal(false);
  const { task_id, type, status, error, children, finished_at, created_at } = task;
  return (
    <li>
      <div class="child">
        <Status of={status} />
        <a href={href(["tasks", task_id], { tenant: chosenTenant.value })}>
          <Text of={type} most={64} /> <code>{task_id.slice(-12)}</code>
        </a>
        <span class="child-error">{error !== null && <Text of={error} most={200} />}</span>
        <Time at={finished_at ?? created_at} />
      </div>
      {children !== null && children.total > 0 && (
        <details open={open.value} onToggle={toggling(open)}>
          <summary>
            {count(children.total)} children, {count(children.open)} open, {count(children.failed)} failed
          </summary>
          {open.value && <Level taskId={task_id} status="" state={JSON.stringify(children)} />}
        </details>
      )}
    </li>
  );
}
