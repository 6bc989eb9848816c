import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import type { QueueView, TypeList } from "../../../src/api/acts/views.ts";
import type { LetterGroups } from "../../../src/core/control/group-dead-letters.ts";
import type { AlarmView } from "../../../src/core/control/metric-history.ts";
import type { TaskView } from "../../../src/core/model/task-view.ts";
import type { Deployment } from "../../../src/core/schedules/ports.ts";
import { deploymentName, lastOf, newSince } from "../deployments.ts";
import { count, counted, duration } from "../format.ts";
import { useLive } from "../live-load.ts";
import { type Loaded, useLoad } from "../load.ts";
import { Curl } from "../parts/curl.tsx";
import { SinceDeployment, useDeployments } from "../parts/deployments.tsx";
import { Icon, type IconName } from "../parts/icon.tsx";
import { beside } from "../parts/later.tsx";
import { Answer, Nothing, Page, Section } from "../parts/layout.tsx";
import { Table } from "../parts/table.tsx";
import { now, Status, Text, Time } from "../parts/text.tsx";
import { href, type QueryValues } from "../route.ts";
import { api, chosenTenant, hrefOf, may, mayChange, type PathOf, tenant, tenantName } from "../session.ts";
import { Charts } from "./overview-charts.tsx";
import { mostRetrying, type QueuesAnswer } from "./overview-data.ts";
import { Troubles, troublesIn } from "./overview-trouble.tsx";
import { readSchedules, type SchedulesRead } from "./schedules-data.ts";
import { RuleText, ZonedTime } from "./schedules-texts.tsx";
import { TaskStatus, WhatHappens } from "./task-state.tsx";

/** Pages of schedules that are read to find those due next. */
const schedulePages = 5;

/** Each read of the groups reads the newest dead letters themselves. */
const groupTimes = { everyMs: 30_000, leastMs: 15_000 };

/**
 * The first page: what is wrong, then what goes on. Each part is read for itself, so that an error of one hides no
 * other.
 */
export function OverviewPage() {
  const types = useLive(`types ${tenant.value}`, (signal) => api.get<TypeList>("/types", undefined, { signal }));
  const schedules = useLive(`schedules ${tenant.value}`, (signal) => readSchedules(schedulePages, signal), {
    leastMs: 5_000,
  });
  const groups = useLive(
    `groups ${tenant.value}`,
    (signal) => api.get<LetterGroups>("/dead-letters/groups", undefined, { signal }),
    groupTimes,
  );
  const retrying = useLive(`retrying ${tenant.value}`, readRetrying, { leastMs: 5_000 });
  const alarms = useAdmin<{ alarms: AlarmView[] }>("/alarms", { alarms: [] });
  const queues = useAdmin<QueuesAnswer>("/queues", { queues: {} });
  const deployments = useDeployments();
  const last = lastOf(deployments, now.value);
  const found = troublesIn({ alarms, types, queues, schedules, groups, retrying, last });
  const { length } = found.troubles;
  const newest = useLive(`newest ${tenant.value}`, readNewest, { leastMs: 2_000 });
  const isFirst = useFirstVisit(newest.value);
  return (
    <Page title="Overview" about={tenantName.value} state={length === 0 ? undefined : `${length} need you`}>
      {isFirst && <FirstTask />}
      <Troubles of={found} />
      {last !== undefined && groups.value !== undefined && <LastDeployment {...{ last }} of={groups.value} />}
      {may("admin") && <Tiles of={queues} />}
      {may("admin") && <Charts deployments={deployments} />}
      <FailingMost of={groups} last={last} />
      {may("admin") && <Tiers of={queues} />}
      <div class="cards">
        <NewestTasks of={newest} />
        <DueNext of={schedules} />
      </div>
    </Page>
  );
}

/** True when the tenant had no task as the page was opened. It stays so, for the states of the first one. */
function useFirstVisit(newest: Some | undefined): boolean {
  const first = useSignal<{ of: string; is: boolean } | undefined>(undefined);
  useEffect(() => {
    if (newest === undefined || first.value?.of === tenant.value) return;
    first.value = { of: tenant.value, is: newest.tasks.length === 0 && newest.complete };
  }, [newest, tenant.value]);
  return first.value?.of === tenant.value && first.value.is && mayChange();
}

/** Its code is loaded where it is shown. */
const FirstTask = beside(async () => (await import("./first-task.tsx")).FirstTask);

/** The errors that are new since the last deployment, and the way to them. */
function LastDeployment({ last, of }: { last: Deployment; of: LetterGroups }) {
  const found = newSince(last, of);
  const name = deploymentName(last, now.value);
  const tasks = found?.reduce((sum, group) => sum + group.count, 0) ?? 0;
  return (
    <section class="part hours" aria-label="The last deployment">
      {found === undefined || found.length === 0 ? (
        <p>
          {found === undefined
            ? `There are more dead letters than are counted here: what is new since ${name} is not known.`
            : `No error is new since ${name}.`}
        </p>
      ) : (
        <p>
          <strong>{counted(found.length, "error")}</strong> with {counted(tasks, "failed task")}{" "}
          {found.length === 1 ? "is" : "are"} new since {name}.{" "}
          <a class="button small" href={linkTo(["dead-letters"], { since: "deployment" })}>
            See what is new
          </a>
        </p>
      )}
    </section>
  );
}

/** The numbers of tasks of all tenants that run, wait and retry now. */
function Tiles({ of }: { of: Loaded<QueuesAnswer> }) {
  const all = Object.values(of.value?.queues ?? {});
  if (all.length === 0) return null;
  const sum = (name: "in_flight" | "visible" | "delayed" | "retrying" | "dead_letters") =>
    count(all.reduce((total, queue) => total + queue[name], 0));
  const tiles: [IconName, string, string, string][] = [
    ["processing", "Running", sum("in_flight"), linkTo(["tasks"], { status: "processing" })],
    ["pending", "Waiting for a worker", sum("visible"), linkTo(["tasks"], { status: "pending" })],
    ["scheduled", "Delayed", sum("delayed"), linkTo(["tasks"], { status: "scheduled" })],
    ["retrying", "Retrying", sum("retrying"), linkTo(["tasks"], { status: "pending" })],
  ];
  return (
    <section class="tiles" aria-label="Tasks of all tenants now">
      {tiles.map(([icon, name, value, place]) => (
        <a key={name} href={place}>
          <p class="tile-name">
            <Icon of={icon} /> {name}
          </p>
          <p class="big">{value}</p>
        </a>
      ))}
    </section>
  );
}

/** An answer for admins. For others it is empty, and nothing is asked. */
function useAdmin<T>(path: PathOf<"GET">, nothing: T): Loaded<T> {
  const isAdmin = may("admin");
  return useLoad(
    `${path} ${isAdmin}`,
    async (signal) => (isAdmin ? api.get<T>(path, undefined, { signal }) : nothing),
    { everyMs: 10_000 },
  );
}

const linkTo = (steps: readonly string[], query: QueryValues = {}): string =>
  href(steps, { ...query, tenant: chosenTenant.value });

const groupsShown = 8;

function FailingMost({ of: groups, last }: { of: Loaded<LetterGroups>; last: Deployment | undefined }) {
  return (
    <Section title="What fails most" actions={<a href={linkTo(["dead-letters"])}>All dead letters</a>}>
      <Answer of={groups}>
        {(of) => (
          <>
            {of.groups.length === 0 ? (
              <Nothing>No dead letters. Tasks that fail for good come here.</Nothing>
            ) : (
              <Groups of={of.groups.slice(0, groupsShown)} fresh={newSince(last, of) ?? []} last={last} />
            )}
            {(of.groups.length > groupsShown || !of.complete) && (
              <p class="muted">
                {of.groups.length > groupsShown && `${count(of.groups.length - groupsShown)} more errors. `}
                {!of.complete && "There are more dead letters than are counted here."}
              </p>
            )}
          </>
        )}
      </Answer>
      <Curl of={{ path: "/dead-letters/groups" }} />
    </Section>
  );
}

const ErrorText = ({ of }: { of: string | null }) => (
  <span class="named">
    <Text of={of ?? "–"} most={200} />
  </span>
);

interface GroupsProps {
  of: LetterGroups["groups"];
  /** The groups that are new since the last deployment. */
  fresh: LetterGroups["groups"];
  last: Deployment | undefined;
}

const Groups = ({ of, fresh, last }: GroupsProps) => (
  <Table
    label="What fails most"
    rows={of}
    keyOf={({ fingerprint, type }) => `${type} ${fingerprint}`}
    columns={[
      { name: "Tasks", numeric: true, cell: (group) => <strong>{count(group.count)}</strong> },
      {
        name: "Type",
        cell: ({ type, fingerprint }) => (
          <a class="nowrap" href={linkTo(["dead-letters"], { type, fingerprint })}>
            <Text of={type} most={64} />
          </a>
        ),
      },
      {
        name: "Error",
        cell: ({ error, error_type, error_kind }) => (
          <>
            <ErrorText of={error} />{" "}
            <span class="muted">
              <Text of={[error_type, error_kind].filter(Boolean).join(", ")} most={100} />
            </span>
          </>
        ),
      },
      {
        name: "Since",
        cell: (group) => (
          <>
            <Time at={group.first_failed_at} />{" "}
            <SinceDeployment last={last} is={fresh.includes(group)} type={group.type} />
          </>
        ),
      },
      {
        name: "Newest",
        // In an answer for all tenants, a group does not say whose its newest one is.
        cell: ({ last_failed_at, task_id, by_tenant }) =>
          by_tenant ? (
            <Time at={last_failed_at} />
          ) : (
            <a href={linkTo(["tasks", task_id])}>
              <Time at={last_failed_at} />
            </a>
          ),
      },
    ]}
  />
);

const Tiers = ({ of }: { of: Loaded<QueuesAnswer> }) => (
  <Section title="Tiers, of all tenants" actions={<a href={linkTo(["queues"])}>Queues</a>}>
    <Answer of={of}>
      {({ queues }) => (
        <Table
          label="Tiers"
          rows={Object.entries(queues)}
          keyOf={([tier]) => tier}
          columns={[
            { name: "Tier", cell: ([tier]) => <span class="nowrap">{tier}</span> },
            { name: "State", cell: ([, queue]) => <TierState of={queue} /> },
            { name: "Waiting", numeric: true, cell: ([, { visible }]) => count(visible) },
            { name: "Oldest", numeric: true, cell: ([, { oldest_age_seconds: age }]) => ageText(age) },
            { name: "In flight", numeric: true, cell: ([, { in_flight }]) => count(in_flight) },
            { name: "Delayed", numeric: true, cell: ([, { delayed }]) => count(delayed) },
            { name: "Retrying", numeric: true, cell: ([, { retrying }]) => count(retrying) },
            { name: "Dead letters", numeric: true, cell: ([, { dead_letters }]) => count(dead_letters) },
          ]}
        />
      )}
    </Answer>
    <Curl of={{ path: "/queues" }} />
  </Section>
);

function ageText(seconds: number | null): string {
  if (seconds === null) return "–";
  return seconds === 0 ? "0 s" : duration(seconds * 1_000);
}

function TierState({ of: { paused, paused_since, refusing_since } }: { of: QueueView }) {
  if (refusing_since) {
    return (
      <span class="status failed">
        <Icon of="failed" /> full <Time at={refusing_since} />
      </span>
    );
  }
  if (!paused) return <Status of="open" />;
  return (
    <span class="status paused">
      <Icon of="paused" /> paused <Time at={paused_since} />
    </span>
  );
}

/**
 * Tasks that failed and wait for another attempt. A page of the list may be short. No index has them: pages of a
 * hundred find them among the newest thousand tasks with half of the requests that pages of fifty need.
 */
function readRetrying(signal: AbortSignal): Promise<Some> {
  return readSome({ status: "pending", retrying: "true", limit: 100 }, mostRetrying, signal, 2);
}

/** Tasks that the page shows, and pages that are read to find them, as a page of the list may be short. */
const newestShown = 8;
const mostPages = 4;

const readNewest = (signal: AbortSignal): Promise<Some> => readSome({ limit: newestShown }, newestShown, signal);

/** Tasks of the first pages of a list. */
interface Some {
  tasks: TaskView[];
  /** False: older tasks were not read. */
  complete: boolean;
}

async function readSome(query: QueryValues, most: number, signal: AbortSignal, pages = mostPages): Promise<Some> {
  const found: TaskView[] = [];
  let cursor: string | undefined;
  for (let page = 0; page < pages && found.length < most; page++) {
    const path = { ...query, cursor };
    const answer: { tasks: TaskView[]; next_cursor: string | null } = await api.get("/tasks", path, { signal });
    found.push(...answer.tasks.filter(({ type }) => !type.startsWith("offload.")));
    if (answer.next_cursor === null) return { tasks: found.slice(0, most), complete: found.length <= most };
    cursor = answer.next_cursor;
  }
  return { tasks: found.slice(0, most), complete: false };
}

function NewestTasks({ of: tasks }: { of: Loaded<Some> }) {
  return (
    <Section title="Newest tasks" actions={<a href={linkTo(["tasks"])}>All tasks</a>}>
      <Answer of={tasks}>
        {({ tasks: of }) =>
          of.length === 0 ? (
            <Nothing>No task yet. Tasks of {tenantName.value} come here as they are submitted.</Nothing>
          ) : (
            <Table
              label="Newest tasks"
              rows={of}
              keyOf={({ task_id }) => task_id}
              columns={[
                { name: "Status", cell: (task) => <TaskStatus of={task} /> },
                {
                  name: "Task",
                  cell: (task) => (
                    <a class="whole nowrap" href={hrefOf(["tasks", task.task_id], task)}>
                      <Text of={task.type} most={64} />
                    </a>
                  ),
                },
                { name: "What happens", cell: (task) => <WhatHappens of={task} /> },
                { name: "Age", numeric: true, cell: ({ created_at }) => <Time at={created_at} /> },
              ]}
            />
          )
        }
      </Answer>
    </Section>
  );
}

const dueShown = 5;

const DueNext = ({ of }: { of: Loaded<SchedulesRead> }) => (
  <Section title="Schedules due next" actions={<a href={linkTo(["schedules"])}>All schedules</a>}>
    <Answer of={of}>
      {({ schedules, complete }) => {
        const due = schedules
          .filter(({ next_run_at }) => next_run_at !== null)
          .sort((a, b) => ((a.next_run_at ?? "") < (b.next_run_at ?? "") ? -1 : 1))
          .slice(0, dueShown);
        return (
          <>
            {due.length === 0 ? (
              <Nothing>No schedule has a next time.</Nothing>
            ) : (
              <Table
                label="Schedules due next"
                rows={due}
                keyOf={({ schedule_id }) => schedule_id}
                columns={[
                  {
                    name: "Name",
                    cell: (schedule) => (
                      <a class="named" href={hrefOf(["schedules", schedule.schedule_id], schedule)}>
                        <Text of={schedule.name} most={128} />
                      </a>
                    ),
                  },
                  { name: "Rule", cell: (schedule) => <RuleText of={schedule} /> },
                  {
                    name: "Next time",
                    cell: ({ next_run_at, timezone }) => <ZonedTime at={next_run_at} zone={timezone} />,
                  },
                ]}
              />
            )}
            {!complete && <p class="muted">Of the first {count(schedules.length)} schedules.</p>}
          </>
        );
      }}
    </Answer>
  </Section>
);
