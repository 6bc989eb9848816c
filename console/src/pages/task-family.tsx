import { useSignal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import type { ChildrenView, TaskView } from "../../../src/core/model/task-view.ts";
import { type Status as StatusName, statuses } from "../../../src/core/model/words.ts";
import { count, counted } from "../format.ts";
import { useLoad } from "../load.ts";
import { Curl } from "../parts/curl.tsx";
import { Icon } from "../parts/icon.tsx";
import { Section } from "../parts/layout.tsx";
import { Options } from "../parts/options.tsx";
import { PagedRows, usePaged } from "../parts/paged.tsx";
import { Status, Text, Time } from "../parts/text.tsx";
import { href } from "../route.ts";
import { api, chosenTenant, may, tenant } from "../session.ts";
import { toggling } from "../signals.ts";
import { taskPath, useAgain } from "./task-data.ts";
import { TaskStatus } from "./task-state.tsx";

/** Parents above a task that are read, one request each. */
const mostAbove = 5;

const linkTo = (steps: readonly string[]): string => href(steps, { tenant: chosenTenant.value });

/** The family of a task: where it comes from, its siblings in numbers, and its children. */
export function Family({ task }: { task: TaskView }) {
  const { task_id: taskId, parent_id: parentId, children, caused_by: causedBy } = task;
  const above = useLoad(`above ${taskId} ${parentId} ${tenant.value}`, (signal) => readAbove(task, signal));
  if (parentId === null && children === null && task.schedule_id === null && causedBy == null) return null;
  const ancestors = above.value ?? [];
  const scheduleId = [...ancestors, task][0]?.schedule_id ?? null;
  const own = (
    <Branch>
      <p class="relative own">
        <TaskStatus of={task} /> <strong>this task</strong>
      </p>
      {children !== null && <Offspring taskId={taskId} of={children} />}
      {ancestors.length > 0 && <Siblings of={ancestors.at(-1)?.children ?? null} />}
    </Branch>
  );
  return (
    <Section title="Family">
      {scheduleId !== null && <FromSchedule id={scheduleId} />}
      {causedBy != null && (
        <p class="relative">
          <Icon of="failed" /> <a href={linkTo(["tasks", causedBy])}>the task whose onFailed this is</a>
        </p>
      )}
      {parentId !== null && above.error !== undefined && (
        <p class="relative muted">
          <a href={linkTo(["tasks", parentId])}>Its parent</a> could not be read: it may be deleted.
        </p>
      )}
      {ancestors.reduceRight(
        (below: ComponentChildren, one) => (
          <Ancestor of={one}>{below}</Ancestor>
        ),
        own,
      )}
    </Section>
  );
}

/** Reads the parents of a task, the highest one first. A deleted parent ends the row. */
async function readAbove(task: TaskView, signal: AbortSignal): Promise<TaskView[]> {
  const found: TaskView[] = [];
  for (let { parent_id: next } = task; next !== null && found.length < mostAbove; next = found[0]?.parent_id ?? null) {
    try {
      found.unshift(await api.get<TaskView>(taskPath(next), undefined, { signal }));
    } catch (error) {
      if (found.length === 0) throw error;
      break;
    }
  }
  return found;
}

const Branch = ({ children }: { children: ComponentChildren }) => <div class="branch">{children}</div>;

const FromSchedule = ({ id }: { id: string }) => (
  <p class="relative">
    <Icon of="schedules" /> {may("viewer") ? <a href={linkTo(["schedules", id])}>schedule</a> : "schedule"}
  </p>
);

const Ancestor = ({ of, children }: { of: TaskView; children: ComponentChildren }) => (
  <Branch>
    <p class="relative">
      <TaskStatus of={of} />{" "}
      <a href={linkTo(["tasks", of.task_id])}>
        <Text of={of.type} most={64} />
      </a>{" "}
      <span class="muted">spawned {count(of.children?.total ?? 1)}</span>
    </p>
    {children}
  </Branch>
);

function Siblings({ of }: { of: ChildrenView | null }) {
  if (of === null || of.total < 2) return null;
  return (
    <div class="relative">
      <Icon of="tasks" /> {counted(of.total - 1, "sibling")}
      <Strip of={of} />
      <span class="muted">
        of all {count(of.total)}: {wordsOf(of)}
      </span>
    </div>
  );
}

/** The states of children that are shown, with the looks of their bars. */
const shares = ["completed", "failed", "cancelled", "expired", "open"] as const;

const wordsOf = (of: ChildrenView): string =>
  shares
    .filter((name) => of[name] > 0)
    .map((name) => `${count(of[name])} ${name}`)
    .join(", ") || "none has ended";

/** The shares of the children's states as one bar. The words beside it say the same. */
function Strip({ of }: { of: ChildrenView }) {
  let before = 0;
  return (
    <svg class="strip" width="100%" height="6" aria-hidden="true">
      {shares.map((name) => {
        const wide = (100 * of[name]) / Math.max(1, of.total);
        const x = before;
        before += wide;
        return wide > 0 && <rect key={name} class={`m-${name}`} x={`${x}%`} width={`${wide}%`} height="6" />;
      })}
    </svg>
  );
}

function Offspring({ taskId, of }: { taskId: string; of: ChildrenView }) {
  const open = useSignal(false);
  return (
    <Branch>
      <div class="relative">
        <Icon of={of.open > 0 ? "processing" : of.failed > 0 ? "failed" : "completed"} />{" "}
        {counted(of.total, "child", "children")}
        {!of.sealed && <span class="muted">, and the handler still spawns</span>}
        <Strip of={of} />
        <span class="muted">{wordsOf(of)}</span>
      </div>
      <details onToggle={toggling(open)}>
        <summary>All {counted(of.total, "child", "children")}</summary>
        {open.value && <List taskId={taskId} state={JSON.stringify(of)} />}
      </details>
    </Branch>
  );
}

function List({ taskId, state }: { taskId: string; state: string }) {
  const status = useSignal<StatusName | "">("");
  const query = status.value === "" ? {} : { status: status.value };
  return (
    <>
      <label class="beside">
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
      <Level taskId={taskId} status={status.value} state={state} />
      <Curl of={{ path: taskPath(taskId, "/children"), query }} />
    </>
  );
}

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
        <a href={linkTo(["tasks", task_id])}>
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
