import { useEffect, useRef } from "preact/hooks";
import type { TaskView } from "../../../src/core/model/task-view.ts";
import { count, counted, duration } from "../format.ts";
import { addShortcuts } from "../keyboard.ts";
import { Failure, Nothing } from "../parts/layout.tsx";
import { Text, Time } from "../parts/text.tsx";
import { VirtualRows } from "../parts/virtual-list.tsx";
import { go, href, route } from "../route.ts";
import { chosenTenant, hrefOf, may } from "../session.ts";
import type { TaskList } from "../task-list.ts";
import { TaskStatus, WhatHappens } from "./task-state.tsx";
import { waitedText } from "./tasks-query.ts";
import { mostTicked } from "./tasks-selection.tsx";
import { sharesText } from "./tasks-shares.ts";

/** The rows of a list, with the shortcuts that go through them. */
export function Rows({ list }: { list: TaskList }) {
  const tasks = list.tasks.value;
  const chosen = tasks.findIndex(({ task_id }) => task_id === list.selected.value);
  const takesFocus = useRef<string | undefined>(undefined);
  const move = (by: number) => {
    const all = list.tasks.value;
    const from = all.findIndex(({ task_id }) => task_id === list.selected.value);
    list.selected.value = all[Math.max(0, Math.min(all.length - 1, from + by))]?.task_id;
    takesFocus.current = list.selected.value;
  };
  useEffect(
    () =>
      addShortcuts([
        { key: "j", description: "next task", run: () => move(1) },
        { key: "k", description: "previous task", run: () => move(-1) },
        {
          key: "o",
          description: "open the task",
          run: () => {
            const taskId = list.selected.value;
            if (taskId !== undefined) go(["tasks", taskId], { tenant: chosenTenant.value });
          },
        },
        ...(mayTick()
          ? [
              {
                key: "x",
                description: "select the task",
                run: () => list.selected.value && list.tick(list.selected.value),
              },
            ]
          : []),
      ]),
    [list],
  );
  return (
    <>
      {list.error.value !== undefined && <Failure error={list.error.value} />}
      {list.newer.value.length > 0 && (
        <button type="button" onClick={() => list.showNewer()}>
          {count(list.newer.value.length)} new
        </button>
      )}
      <div
        class={mayTick() ? "vtable ticks" : "vtable"}
        role="table"
        aria-label="Tasks"
        aria-rowcount={list.complete.value ? tasks.length + 1 : -1}
      >
        <div role="rowgroup">
          <div class="row head" role="row" aria-rowindex={1}>
            {mayTick() && (
              <span role="columnheader">
                <TickAll list={list} />
              </span>
            )}
            {columns.map(([name, look]) => (
              <span key={name} role="columnheader" class={look}>
                {name}
              </span>
            ))}
          </div>
        </div>
        <VirtualRows
          key={list}
          total={tasks.length}
          selected={chosen}
          selectedId={list.selected.value}
          top={list.top}
          onEnd={() => void list.more()}
          onScroll={(top) => list.scrolled(top)}
          row={(index) => {
            const task = tasks[index];
            return (
              task && <Row key={task.task_id} {...{ task, index, list, takesFocus }} isSelected={index === chosen} />
            );
          }}
        />
      </div>
      <Foot list={list} />
    </>
  );
}

/** The number of the rows, and of those that are not shown. */
function Foot({ list }: { list: TaskList }) {
  const tasks = list.tasks.value;
  const shares = sharesText(tasks);
  return (
    <>
      <p class="muted" role="status">
        {list.loading.value
          ? `Reading … ${count(tasks.length)} tasks so far`
          : tasks.length === 0
            ? ""
            : `${count(tasks.length)} ${tasks.length === 1 ? "task" : "tasks"}${list.complete.value ? "" : ", more when you scroll"}`}
      </p>
      {shares !== "" && (
        <p class="muted">
          Of these: <Text of={shares} most={400} />
        </p>
      )}
      {tasks.length === 0 && !list.loading.value && list.error.value === undefined && (
        <Nothing>No task matches.</Nothing>
      )}
      {list.hidden.value.size > 0 && (
        <p class="muted">
          {counted(list.hidden.value.size, "task")} of <code>offload.*</code>{" "}
          {list.hidden.value.size === 1 ? "is" : "are"} hidden.{" "}
          <a href={href(["tasks"], { ...route.value.query, own: "shown" })}>Show them</a>
        </p>
      )}
    </>
  );
}

/** Time from the start of the last attempt to the end. */
const ranText = ({ started_at: from, finished_at: to }: TaskView): string =>
  from === null || to === null ? "–" : duration(Date.parse(to) - Date.parse(from));

/** The columns behind the ticks, with their looks. */
const columns: readonly [name: string, look?: string][] = [
  ["Status", "state"],
  ["Task", "task"],
  ["What happens", "details"],
  ["Attempts", "wide number"],
  ["Waited", "wide number"],
  ["Ran", "wide number"],
  ["Age", "age number"],
];

/** True for callers who may start operations on many tasks. */
const mayTick = (): boolean => may("operator");

function TickAll({ list }: { list: TaskList }) {
  const tasks = list.tasks.value.slice(0, mostTicked);
  const all = tasks.length > 0 && tasks.every(({ task_id }) => list.ticked.value.has(task_id));
  return (
    <input
      type="checkbox"
      aria-label={tasks.length < list.tasks.value.length ? `Select the first ${mostTicked}` : "Select all"}
      checked={all}
      indeterminate={!all && list.ticked.value.size > 0}
      onChange={() => {
        list.ticked.value = new Set(all ? [] : tasks.map(({ task_id }) => task_id));
      }}
    />
  );
}

/** A parent's attempts are those of its handler and its closing: they are no retries. */
const attemptsText = ({ attempts, max_attempts, children }: TaskView): string =>
  children?.sealed && attempts > 1 ? "–" : `${attempts}/${max_attempts}`;

interface RowProps {
  task: TaskView;
  index: number;
  list: TaskList;
  isSelected: boolean;
  /** Id of the task that the keyboard has just chosen. Its row gets the focus. */
  takesFocus: { current: string | undefined };
}

function Row({ task, index, list, isSelected, takesFocus }: RowProps) {
  const link = useRef<HTMLAnchorElement>(null);
  useEffect(() => {
    if (takesFocus.current !== task.task_id) return;
    takesFocus.current = undefined;
    link.current?.focus({ preventScroll: true });
  });
  const { task_id: taskId, type, tags, created_at } = task;
  const isTicked = list.ticked.value.has(taskId);
  return (
    <div
      class={isTicked ? "row ticked" : "row"}
      role="row"
      aria-rowindex={index + 2}
      aria-current={isSelected ? "true" : undefined}
    >
      {mayTick() && (
        <span role="cell" class="tick">
          <input
            type="checkbox"
            aria-label={`Select ${type} ${taskId.slice(-4)}`}
            checked={isTicked}
            onChange={() => list.tick(taskId)}
          />
        </span>
      )}
      <span role="cell" class="state">
        <TaskStatus of={task} />
      </span>
      <span role="cell" class="task">
        <a ref={link} href={hrefOf(["tasks", taskId], task)}>
          <Text of={type} most={64} />
        </a>{" "}
        {Object.entries(tags).map(([name, value]) => (
          <span key={name} class="tag">
            <Text of={`${name}=${value}`} most={60} />
          </span>
        ))}
      </span>
      <span role="cell" class="details">
        <WhatHappens of={task} />
      </span>
      <span role="cell" class="wide number">
        {attemptsText(task)}
      </span>
      <span role="cell" class="wide number">
        {waitedText(task)}
      </span>
      <span role="cell" class="wide number">
        {ranText(task)}
      </span>
      <span role="cell" class="age number">
        <Time at={created_at} />
      </span>
    </div>
  );
}
