import { useEffect, useRef } from "preact/hooks";
import type { TaskView } from "../../../src/core/model/task-view.ts";
import { count, duration } from "../format.ts";
import { addShortcuts } from "../keyboard.ts";
import { Failure, Nothing } from "../parts/layout.tsx";
import { Text, Time } from "../parts/text.tsx";
import { VirtualRows } from "../parts/virtual-list.tsx";
import { go } from "../route.ts";
import { chosenTenant, hrefOf } from "../session.ts";
import type { TaskList } from "../task-list.ts";
import { TaskStatus, WhatHappens } from "./task-state.tsx";

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
      <div class="vtable" role="table" aria-label="Tasks" aria-rowcount={list.complete.value ? tasks.length + 1 : -1}>
        <div role="rowgroup">
          <div class="row head" role="row" aria-rowindex={1}>
            {["Status", "Task", "What happens", "Attempts", "Ran", "Age"].map((name, index) => (
              <span
                key={name}
                role="columnheader"
                class={[undefined, undefined, "details", "wide number", "wide number", "number"][index]}
              >
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
          row={(index, style) => {
            const task = tasks[index];
            return (
              task && <Row key={task.task_id} {...{ task, index, style, takesFocus }} isSelected={index === chosen} />
            );
          }}
        />
      </div>
      <p class="muted" role="status">
        {list.loading.value
          ? `Reading … ${count(tasks.length)} tasks so far`
          : tasks.length === 0
            ? ""
            : `${count(tasks.length)} ${tasks.length === 1 ? "task" : "tasks"}${list.complete.value ? "" : ", more when you scroll"}`}
      </p>
      {tasks.length === 0 && !list.loading.value && list.error.value === undefined && (
        <Nothing>No task matches.</Nothing>
      )}
    </>
  );
}

/** Time from the start of the last attempt to the end. */
const ranText = ({ started_at: from, finished_at: to }: TaskView): string =>
  from === null || to === null ? "–" : duration(Date.parse(to) - Date.parse(from));

function Row({
  task,
  index,
  style,
  isSelected,
  takesFocus,
}: {
  task: TaskView;
  index: number;
  style: { transform: string };
  isSelected: boolean;
  /** Id of the task that the keyboard has just chosen. Its row gets the focus. */
  takesFocus: { current: string | undefined };
}) {
  const link = useRef<HTMLAnchorElement>(null);
  useEffect(() => {
    if (takesFocus.current !== task.task_id) return;
    takesFocus.current = undefined;
    link.current?.focus({ preventScroll: true });
  });
  const place = hrefOf(["tasks", task.task_id], task);
  return (
    <div class="row" role="row" aria-rowindex={index + 2} aria-current={isSelected ? "true" : undefined} style={style}>
      <span role="cell">
        <TaskStatus of={task} />
      </span>
      <span role="cell">
        <a ref={link} href={place}>
          <Text of={task.type} most={64} />
        </a>{" "}
        {Object.entries(task.tags).map(([name, value]) => (
          <span key={name} class="tag">
            <Text of={`${name}=${value}`} most={60} />
          </span>
        ))}
      </span>
      <span role="cell" class="details">
        <WhatHappens of={task} />
      </span>
      <span role="cell" class="wide number">
        {task.attempts}/{task.max_attempts}
      </span>
      <span role="cell" class="wide number">
        {ranText(task)}
      </span>
      <span role="cell" class="number">
        <Time at={task.created_at} />
      </span>
    </div>
  );
}
