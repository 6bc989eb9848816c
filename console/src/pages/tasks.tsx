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
import { Filters } from "./tasks-filters.tsx";
import { apiQuery, faultOf, filterOf, isOfIds, type PageQuery, showsOwn } from "./tasks-query.ts";
import { Rows } from "./tasks-rows.tsx";
import { actWords, bulkOf, mostTicked, Selection } from "./tasks-selection.tsx";

const TaskPage = later("Task", async () => (await import("./task.tsx")).TaskPage);

/** The list of tasks, or one of them. */
export function TasksPage({ rest }: { rest: readonly string[] }) {
  const [taskId] = rest;
  return taskId === undefined ? <Tasks /> : <TaskPage key={taskId} taskId={taskId} />;
}

/** The last list, so that Back from a task finds it as it was. */
let kept: { key: string; list: TaskList } | undefined;

function keptList(key: string, query: PageQuery): TaskList {
  if (kept?.key !== key) kept = { key, list: new TaskList(apiQuery(query), showsOwn(query)) };
  return kept.list;
}

/** An operation on what the page's URL finds. Undefined: the search has found nothing yet. */
function bulkOfFound(act: "cancel" | "retry", query: PageQuery, list: TaskList): Bulk | undefined {
  if (!isOfIds(query)) return bulkOf(act, { filter: filterOf(query) });
  const ids = list.tasks.value.slice(0, mostTicked).map(({ task_id }) => task_id);
  if (list.loading.value || ids.length === 0) return undefined;
  const isAll = list.complete.value && ids.length === list.tasks.value.length;
  return bulkOf(act, { task_ids: ids }, { ofSearch: isAll ? "all" : "first" });
}

/** The filter in the window's title: that of a bookmark. */
const viewName = ({ view, status }: PageQuery): string | undefined => view || status || undefined;

const foundText = ({ tasks: { value: tasks }, complete }: TaskList): string =>
  tasks.length === 0 ? "" : `${count(tasks.length)}${complete.value ? " found" : " or more found"}`;

function Tasks() {
  const { query } = route.value;
  const wanted = apiQuery(query);
  const fault = faultOf(query);
  const operations = useSignal(0);
  const key = JSON.stringify([wanted, showsOwn(query), tenant.value]);
  const list = useMemo(() => keptList(key, query), [key, operations.value]);
  useEffect(() => {
    if (fault !== undefined) return;
    list.start();
    return () => list.stop();
  }, [list, fault === undefined]);
  const bulk = useSignal<Bulk | undefined>(undefined);
  const offer = (action: "cancel" | "retry") => {
    const offered = fault === undefined ? bulkOfFound(action, query, list) : undefined;
    return (
      <button
        type="button"
        class={action === "cancel" ? "danger" : undefined}
        disabled={offered === undefined}
        onClick={setting(bulk, offered)}
      >
        {actWords[action]} all found …
      </button>
    );
  };
  return (
    <Page
      title="Tasks"
      about={foundText(list)}
      state={viewName(query)}
      actions={may("operator") && [offer("retry"), offer("cancel")]}
    >
      <Filters query={query} />
      {fault === undefined ? <Rows list={list} /> : <Failure error={fault} />}
      <Curl of={{ path: "/tasks", query: wanted }} />
      <Selection list={list} onAct={(wanted) => setting(bulk, wanted)()} />
      {bulk.value !== undefined && (
        <BulkDialog
          bulk={bulk.value}
          onClose={(started) => {
            bulk.value = undefined;
            if (!started) return;
            kept = undefined;
            operations.value += 1;
          }}
        />
      )}
    </Page>
  );
}
