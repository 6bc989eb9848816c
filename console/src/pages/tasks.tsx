import { useSignal } from "@preact/signals";
import { useEffect, useMemo, useRef } from "preact/hooks";
import { statuses } from "../../../src/core/status.ts";
import type { TaskView } from "../../../src/core/task-view.ts";
import { type Tier, tiers } from "../../../src/core/tier.ts";
import { count, localInput } from "../format.ts";
import { addShortcuts } from "../keyboard.ts";
import { useLoad } from "../load.ts";
import { Curl } from "../parts/curl.tsx";
import { later } from "../parts/later.tsx";
import { Failure, Nothing, Page } from "../parts/layout.tsx";
import { type Bulk, BulkDialog } from "../parts/operation.tsx";
import { Status, Text, Time } from "../parts/text.tsx";
import { VirtualRows } from "../parts/virtual-list.tsx";
import { changeQuery, go, href, type QueryValues, route } from "../route.ts";
import { api, chosenTenant, may, tenant } from "../session.ts";
import { TaskList } from "../task-list.ts";

const TaskPage = later("Task", async () => (await import("./task.tsx")).TaskPage);

/** The list of tasks, or one of them. */
export function TasksPage({ rest }: { rest: readonly string[] }) {
  const [taskId] = rest;
  return taskId === undefined ? <Tasks /> : <TaskPage key={taskId} taskId={taskId} />;
}

/** Names of the query that the API and the page's URL share. */
const names = ["q", "status", "type", "priority", "created_after", "created_before"] as const;

/** The API's query of the page's URL. */
function apiQuery(query: Readonly<Record<string, string>>): Record<string, string> {
  const given = names.flatMap((name) => (query[name] ? [[name, query[name]]] : []));
  const [name, value] = (query.tag ?? "").split(/=(.*)/s);
  return { ...Object.fromEntries(given), ...(name && value !== undefined && { [`tag.${name}`]: value }) };
}

/** The selection of an operation on all tasks of the list. */
function filterOf(query: Readonly<Record<string, string>>): Record<string, unknown> {
  const { q: _, tag, tenant: __, ...rest } = query;
  const [name, value] = (tag ?? "").split(/=(.*)/s);
  const given = Object.entries(rest).filter(([name]) => (names as readonly string[]).includes(name));
  return { ...Object.fromEntries(given), ...(name && value !== undefined && { tags: { [name]: value } }) };
}

function Tasks() {
  const { query } = route.value;
  const wanted = apiQuery(query);
  const times = useSignal(0);
  const key = JSON.stringify([wanted, tenant.value, times.value]);
  const list = useMemo(() => new TaskList(wanted), [key]);
  useEffect(() => () => list.end(), [list]);
  const bulk = useSignal<Bulk | undefined>(undefined);
  const select = (action: "cancel" | "retry") => {
    const ids = list.tasks.value.slice(0, 100).map(({ task_id }) => task_id);
    bulk.value = {
      title: action === "cancel" ? "Cancel tasks" : "Retry failed tasks",
      action: action === "cancel" ? "Cancel" : "Retry",
      danger: action === "cancel",
      path: `/tasks/${action}`,
      body: query.q ? { task_ids: ids } : { filter: filterOf(query) },
      hasRate: action === "retry",
      things: "tasks",
    };
  };
  return (
    <Page
      title="Tasks"
      actions={
        may("operator") && (
          <>
            <button type="button" onClick={() => select("cancel")}>
              Cancel all found …
            </button>
            <button type="button" onClick={() => select("retry")}>
              Retry all found …
            </button>
          </>
        )
      }
    >
      <Filters query={query} />
      <Rows list={list} />
      <Curl of={{ path: "/tasks", query: wanted }} />
      {bulk.value !== undefined && (
        <BulkDialog
          bulk={bulk.value}
          onClose={() => {
            bulk.value = undefined;
            times.value += 1;
          }}
        />
      )}
    </Page>
  );
}

/** The search and the filters. They are the page's URL. */
function Filters({ query }: { query: Readonly<Record<string, string>> }) {
  const search = useRef<HTMLInputElement>(null);
  const types = useLoad(`types ${tenant.value}`, () => api.get<{ types: { name: string }[] }>("/types"));
  useEffect(() => addShortcuts([{ key: "/", description: "search", run: () => search.current?.focus() }]), []);
  const set = (name: string) => (event: { currentTarget: { value: string } }) =>
    changeQuery({ [name]: event.currentTarget.value.trim() || undefined } as QueryValues);
  const choice = (name: string, label: string, values: readonly string[]) => (
    <label>
      {label}
      <select value={query[name] ?? ""} onChange={set(name)}>
        <option value="">all</option>
        {values.map((value) => (
          <option key={value} value={value}>
            {value}
          </option>
        ))}
      </select>
    </label>
  );
  return (
    <search class="card">
      <form class="filters" onSubmit={(event) => event.preventDefault()}>
        <label>
          Search
          <input
            ref={search}
            type="search"
            size={34}
            maxLength={128}
            placeholder="task id, correlation id, tag, error"
            value={query.q ?? ""}
            onChange={set("q")}
          />
        </label>
        <details open={matchMedia("(min-width: 641px)").matches}>
          <summary>Filters</summary>
          <div class="filters">
            {choice("status", "Status", statuses)}
            {choice("type", "Type", types.value?.types.map(({ name }) => name) ?? (query.type ? [query.type] : []))}
            {choice("priority", "Priority", tiers satisfies readonly Tier[])}
            <label>
              Tag
              <input size={16} placeholder="name=value" value={query.tag ?? ""} onChange={set("tag")} />
            </label>
            <label>
              Submitted after
              <input
                type="datetime-local"
                value={localInput(query.created_after)}
                onChange={setTime("created_after")}
              />
            </label>
            <label>
              Submitted before
              <input
                type="datetime-local"
                value={localInput(query.created_before)}
                onChange={setTime("created_before")}
              />
            </label>
            <button type="button" class="quiet" onClick={() => go(["tasks"], { tenant: chosenTenant.value })}>
              Clear
            </button>
          </div>
        </details>
      </form>
    </search>
  );
}

const setTime = (name: string) => (event: { currentTarget: { value: string } }) => {
  const { value } = event.currentTarget;
  changeQuery({ [name]: value === "" ? undefined : new Date(value).toISOString() });
};

function Rows({ list }: { list: TaskList }) {
  const selected = useSignal(-1);
  const tasks = list.tasks.value;
  const move = (by: number) => {
    selected.value = Math.max(0, Math.min(list.tasks.value.length - 1, selected.value + by));
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
            const task = list.tasks.value[selected.value];
            if (task !== undefined) go(["tasks", task.task_id], { tenant: chosenTenant.value });
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
            {["Status", "Type", "Tags, error", "Priority", "Attempts", "Submitted"].map((name, index) => (
              <span key={name} role="columnheader" class={index >= 2 && index <= 4 ? "wide" : undefined}>
                {name}
              </span>
            ))}
          </div>
        </div>
        <VirtualRows
          total={tasks.length}
          selected={selected.value}
          onEnd={() => void list.more()}
          onScroll={(top) => {
            list.isAtTop = top < 40;
          }}
          row={(index, style) => {
            const task = tasks[index];
            return task && <Row key={task.task_id} {...{ task, index, style }} isSelected={index === selected.value} />;
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
      {tasks.length === 0 && !list.loading.value && <Nothing>No task matches.</Nothing>}
    </>
  );
}

function Row({
  task,
  index,
  style,
  isSelected,
}: {
  task: TaskView;
  index: number;
  style: { transform: string };
  isSelected: boolean;
}) {
  const place = href(["tasks", task.task_id], { tenant: chosenTenant.value });
  return (
    <div class="row" role="row" aria-rowindex={index + 2} aria-current={isSelected ? "true" : undefined} style={style}>
      <span role="cell">
        <Status of={task.status} />
      </span>
      <span role="cell">
        <a href={place}>
          <Text of={task.type} most={64} />
        </a>
      </span>
      <span role="cell" class="wide">
        {Object.entries(task.tags).map(([name, value]) => (
          <span key={name} class="tag">
            <Text of={`${name}=${value}`} most={60} />
          </span>
        ))}
        {task.error !== null && <Text of={task.error} most={200} />}
        {task.status === "processing" && task.progress !== null && `${task.progress} %`}
      </span>
      <span role="cell" class="wide">
        {task.priority}
      </span>
      <span role="cell" class="wide number">
        {task.attempts}
      </span>
      <span role="cell">
        <Time at={task.created_at} />
      </span>
    </div>
  );
}
