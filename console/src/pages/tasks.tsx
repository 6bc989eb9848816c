import { useSignal } from "@preact/signals";
import { useEffect, useMemo } from "preact/hooks";
import { count } from "../format.ts";
import { Curl } from "../parts/curl.tsx";
import { later } from "../parts/later.tsx";
import { Failure, Page } from "../parts/layout.tsx";
import { type Bulk, BulkDialog } from "../parts/operation.tsx";
import { route } from "../route.ts";
import { may, tenant } from "../session.ts";
import { setting } from "../signals.ts";
import { TaskList } from "../task-list.ts";
import { apiQuery, Filters, faultOf, filterOf } from "./tasks-filters.tsx";
import { Rows } from "./tasks-rows.tsx";

const TaskPage = later("Task", async () => (await import("./task.tsx")).TaskPage);

/** The list of tasks, or one of them. */
export function TasksPage({ rest }: { rest: readonly string[] }) {
  const [taskId] = rest;
  return taskId === undefined ? <Tasks /> : <TaskPage key={taskId} taskId={taskId} />;
}

/** The last list, so that Back from a task finds it as it was. */
let kept: { key: string; list: TaskList } | undefined;

function keptList(key: string, query: Record<string, string>): TaskList {
  if (kept?.key !== key) kept = { key, list: new TaskList(query) };
  return kept.list;
}

/** Number of tasks that one operation can name, as the API allows. A search is no filter of an operation. */
const mostIds = 100;

/** An operation on what the page's URL finds. Undefined: the search has found nothing yet. */
function bulkOf(action: "cancel" | "retry", query: Readonly<Record<string, string>>, list: TaskList): Bulk | undefined {
  const ids = list.tasks.value.slice(0, mostIds).map(({ task_id }) => task_id);
  if (query.q && (list.loading.value || ids.length === 0)) return undefined;
  return {
    title: action === "cancel" ? "Cancel tasks" : "Retry failed tasks",
    action: action === "cancel" ? "Cancel" : "Retry",
    danger: action === "cancel",
    path: `/tasks/${action}`,
    body: query.q ? { task_ids: ids } : { filter: filterOf(query) },
    hasRate: action === "retry",
    things: "tasks",
    ...(query.q && { ofSearch: list.complete.value && ids.length === list.tasks.value.length ? "all" : "first" }),
  };
}

const foundText = ({ tasks: { value: tasks }, complete }: TaskList): string =>
  tasks.length === 0 ? "" : `${count(tasks.length)}${complete.value ? " found" : " or more found"}`;

function Tasks() {
  const { query } = route.value;
  const wanted = apiQuery(query);
  const fault = faultOf(query);
  const times = useSignal(0);
  const key = JSON.stringify([wanted, tenant.value, times.value]);
  const list = useMemo(() => keptList(key, wanted), [key]);
  useEffect(() => {
    if (fault !== undefined) return;
    list.start();
    return () => list.stop();
  }, [list, fault === undefined]);
  const bulk = useSignal<Bulk | undefined>(undefined);
  const offer = (action: "cancel" | "retry") => {
    const offered = fault === undefined ? bulkOf(action, query, list) : undefined;
    return (
      <button
        type="button"
        class={action === "cancel" ? "danger" : undefined}
        disabled={offered === undefined}
        onClick={setting(bulk, offered)}
      >
        {action === "cancel" ? "Cancel" : "Retry"} all found …
      </button>
    );
  };
  return (
    <Page title="Tasks" about={foundText(list)} actions={may("operator") && [offer("retry"), offer("cancel")]}>
      <Filters query={query} />
      {fault === undefined ? <Rows list={list} /> : <Failure error={fault} />}
      <Curl of={{ path: "/tasks", query: wanted }} />
      {bulk.value !== undefined && (
        <BulkDialog
          bulk={bulk.value}
          onClose={(started) => {
            bulk.value = undefined;
            if (started) times.value += 1;
          }}
        />
      )}
    </Page>
  );
}
