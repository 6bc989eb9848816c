import { useEffect } from "preact/hooks";
import type { TaskView } from "../../../src/core/model/task-view.ts";
import { isTerminal } from "../../../src/core/model/words.ts";
import { nowMs } from "../clock.ts";
import { count } from "../format.ts";
import { Icon } from "../parts/icon.tsx";
import type { Bulk } from "../parts/operation.tsx";
import type { TaskList } from "../task-list.ts";

/** Number of tasks that one operation can name, as the API allows. */
export const mostTicked = 100;

export type Act = "retry" | "run-now" | "cancel";

const titles = { retry: "Retry failed tasks", "run-now": "Run tasks now", cancel: "Cancel tasks" };
export const actWords = { retry: "Retry", "run-now": "Run now", cancel: "Cancel" };

/** An operation on tasks. @param body Its selection: ids, or a filter */
export const bulkOf = (act: Act, body: Bulk["body"], more: Partial<Bulk> = {}): Bulk => ({
  title: titles[act],
  action: actWords[act],
  danger: act === "cancel",
  path: `/tasks/${act}`,
  body,
  hasRate: act !== "cancel",
  things: "tasks",
  ...more,
});

/** True for a task that the act would change. The API decides again. */
const changes: Readonly<Record<Act, (task: TaskView) => boolean>> = {
  retry: ({ status }) => status === "failed",
  "run-now": ({ status, waiting_for, next_attempt_at: next }) =>
    waiting_for === null &&
    (status === "scheduled" || (status === "pending" && next !== null && Date.parse(next) > nowMs())),
  cancel: ({ status }) => !isTerminal(status),
};

/** The operations on the ticked tasks. Each button says how many of them it would change. */
export function Selection({ list, onAct }: { list: TaskList; onAct: (bulk: Bulk) => void }) {
  const ticked = list.tasks.value.filter(({ task_id }) => list.ticked.value.has(task_id));
  const clear = () => {
    list.ticked.value = new Set();
  };
  useEffect(() => {
    // Tasks that left the list are no longer ticked: nobody sees them.
    if (ticked.length < list.ticked.value.size) list.ticked.value = new Set(ticked.map(({ task_id }) => task_id));
  }, [ticked.length]);
  if (ticked.length === 0) return null;
  const some = ticked.slice(0, mostTicked);
  const acts = (["retry", "run-now", "cancel"] as const).map((act) => [act, some.filter(changes[act])] as const);
  const first = acts.find(([act, tasks]) => act !== "cancel" && tasks.length > 0)?.[0];
  return (
    <section class="selection" aria-label="Selected tasks">
      <p role="status">
        <strong>{count(ticked.length)} selected</strong>
        {ticked.length > mostTicked && <span class="muted">, the first {mostTicked} are changed</span>}
      </p>
      {acts.map(
        ([act, tasks]) =>
          tasks.length > 0 && (
            <button
              key={act}
              type="button"
              class={act === "cancel" ? "danger" : act === first ? "primary" : undefined}
              onClick={() => onAct(bulkOf(act, { task_ids: tasks.map(({ task_id }) => task_id) }))}
            >
              {act === "run-now" ? `Run ${count(tasks.length)} now …` : `${actWords[act]} ${count(tasks.length)} …`}
            </button>
          ),
      )}
      {acts.every(([, tasks]) => tasks.length === 0) && <span class="muted">Nothing can be done with them.</span>}
      <button type="button" class="quiet icon" aria-label="Select none" onClick={clear}>
        <Icon of="x" />
      </button>
    </section>
  );
}
