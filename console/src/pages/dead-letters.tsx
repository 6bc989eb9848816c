import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import type { LetterGroups } from "../../../src/core/control/group-dead-letters.ts";
import { errorKinds } from "../../../src/core/model/errors.ts";
import { tiers } from "../../../src/core/model/words.ts";
import type { Deployment } from "../../../src/core/schedules/ports.ts";
import { deploymentName, lastOf, newSince } from "../deployments.ts";
import { count } from "../format.ts";
import { addShortcuts } from "../keyboard.ts";
import { useLive } from "../live-load.ts";
import { Ask } from "../parts/action.tsx";
import { Curl } from "../parts/curl.tsx";
import { useDeployments } from "../parts/deployments.tsx";
import { ChoiceFilter, TextFilter, TimeFilter } from "../parts/filter.tsx";
import { Answer, Nothing, Page } from "../parts/layout.tsx";
import { type Bulk, BulkDialog } from "../parts/operation.tsx";
import { now, Text, Time } from "../parts/text.tsx";
import { changeQuery, href, route } from "../route.ts";
import { api, chosenTenant, tenant } from "../session.ts";
import { useShown } from "../signals.ts";
import { type Filter, type Group, GroupDetail, type Start } from "./dead-letters-group.tsx";

/** Fields of the filter of the groups, in the page's URL and in the API. */
const names = ["type", "error_type", "error_kind", "priority", "failed_after", "failed_before"] as const;

/** The filter of the groups. A URL with a fingerprint names a group, and its type is that group's. */
const filterOf = (query: Filter): Filter =>
  Object.fromEntries(
    names.flatMap((name) => {
      const isOfGroup = name === "type" && query.fingerprint !== undefined;
      return query[name] && !isOfGroup ? [[name, query[name]]] : [];
    }),
  );

/** Filters that hide failures of a group: whether it began after a deployment is not known with them. */
const hidesFailures = ({ failed_after, priority }: Filter): boolean => Boolean(failed_after || priority);

/** Tasks that failed permanently: groups by type and error, and beside them the open group. */
export function DeadLettersPage() {
  const { query } = route.value;
  const filter = filterOf(query);
  const times = useSignal(0);
  const bulk = useShown<Bulk>(() => {
    times.value += 1;
  });
  const start: Start = (act, selection) => bulk.show(bulkOf(act, selection));
  const groups = useLive(
    `groups ${JSON.stringify([filter, tenant.value, times.value])}`,
    (signal) => api.get<LetterGroups>("/dead-letters/groups", filter, { signal }),
    { leastMs: 5_000 },
  );
  const deployments = useDeployments();
  const last = hidesFailures(filter) ? undefined : lastOf(deployments, now.value);
  const fresh = groups.value && newSince(last, groups.value);
  const isOfNew = query.since === "deployment" && fresh !== undefined;
  const found = isOfNew ? fresh : (groups.value?.groups ?? []);
  const total = found.reduce((sum, group) => sum + group.count, 0);
  const more = groups.value?.complete === false ? " or more" : "";
  return (
    <Page
      title="Dead letters"
      state={total === 0 ? undefined : `${count(total)}${more}`}
      about={found.length > 0 && `${count(total)}${more} in ${count(found.length)} groups`}
      actions={
        total > 0 &&
        // An operation has a filter, and none says that a group is new.
        query.since === undefined && (
          <>
            <Ask onClick={() => start("replay", { filter })}>Replay all found …</Ask>
            <Ask danger onClick={() => start("discard", { filter })}>
              Discard all found …
            </Ask>
          </>
        )
      }
    >
      <Answer of={groups}>
        {({ complete }) => (
          <Split
            {...{ complete, filter, start, last, fresh, isOfNew, deployments }}
            groups={found}
            chosen={query}
            times={times.value}
          />
        )}
      </Answer>
      <Curl of={{ path: "/dead-letters/groups", query: filter }} />
      {bulk.value !== undefined && <BulkDialog bulk={bulk.value} onClose={bulk.close} />}
    </Page>
  );
}

const bulkOf = (act: "replay" | "discard", body: Bulk["body"]): Bulk => ({
  title: act === "replay" ? "Replay dead letters" : "Discard dead letters",
  action: act === "replay" ? "Replay" : "Discard",
  danger: act === "discard",
  path: `/dead-letters/${act}`,
  body,
  hasRate: act === "replay",
  things: "dead letters",
});

interface SplitProps {
  groups: readonly Group[];
  complete: boolean;
  filter: Filter;
  deployments: readonly Deployment[];
  last: Deployment | undefined;
  /** The groups that are new since the last deployment. Undefined: it is not known. */
  fresh: readonly Group[] | undefined;
  /** True: only these are shown. */
  isOfNew: boolean;
  /** The page's query, which may name a group. */
  chosen: Filter;
  start: Start;
  times: number;
}

function Split({ groups, complete, filter, chosen, start, times, last, fresh, isOfNew, deployments }: SplitProps) {
  const kept: Filter = isOfNew ? { ...filter, since: "deployment" } : filter;
  const named = groups.find((group) => group.fingerprint === chosen.fingerprint && group.type === chosen.type);
  // The largest group stands open where there is room for two columns.
  const open = named ?? (chosen.fingerprint === undefined ? groups[0] : undefined);
  const move = (by: number) => {
    const next = groups[Math.max(0, groups.indexOf(open ?? ({} as Group)) + by)];
    if (next !== undefined) changeQuery({ type: next.type, fingerprint: next.fingerprint });
  };
  useEffect(
    () =>
      addShortcuts([
        { key: "j", description: "next group", run: () => move(1) },
        { key: "k", description: "group before", run: () => move(-1) },
      ]),
    [groups, open],
  );
  return (
    <div class={chosen.fingerprint === undefined ? "split" : "split chosen"}>
      <div class="groups">
        <Filters />
        <NewOnes {...{ filter, last, fresh, isOfNew }} />
        {!complete && (
          <p class="failure">
            Only the newest 10,000 dead letters are counted here. Narrow the times to see the others.
          </p>
        )}
        {groups.length === 0 ? (
          <Nothing>
            {Object.keys(kept).length === 0
              ? "No dead letters. Tasks that fail for good come here, with their input."
              : "No dead letter matches the filter."}
          </Nothing>
        ) : (
          <GroupList {...{ groups, open }} filter={kept} fresh={fresh ?? []} last={last} />
        )}
      </div>
      <div class="group-detail">
        {chosen.fingerprint !== undefined && (
          <p class="back">
            <a href={href(["dead-letters"], { ...kept, tenant: chosenTenant.value })}>All groups</a>
          </p>
        )}
        {open !== undefined && (
          <GroupDetail
            key={`${open.type} ${open.fingerprint} ${times}`}
            group={open}
            isNew={fresh?.includes(open) === true}
            {...{ filter, start, last, deployments }}
          />
        )}
        {open === undefined && chosen.fingerprint !== undefined && (
          <Nothing>This group has no dead letter any more.</Nothing>
        )}
      </div>
    </div>
  );
}

/** The number of groups that are new since the last deployment, and the way to them and back. */
function NewOnes({ filter, last, fresh, isOfNew }: Pick<SplitProps, "filter" | "last" | "fresh" | "isOfNew">) {
  if (last === undefined || fresh === undefined || (fresh.length === 0 && !isOfNew)) return null;
  const query = { ...filter, since: isOfNew ? undefined : "deployment", tenant: chosenTenant.value };
  return (
    <p>
      {isOfNew ? "Only what is new" : `${count(fresh.length)} new`} since {deploymentName(last, now.value)}.{" "}
      <a href={href(["dead-letters"], query)}>{isOfNew ? "Show all" : "Show only what is new"}</a>
    </p>
  );
}

const Filters = () => (
  <search>
    <details>
      <summary>Filters</summary>
      <form class="filters" onSubmit={(event) => event.preventDefault()}>
        <TextFilter name="type" label="Type" />
        <TextFilter name="error_type" label="Class of the error" />
        <ChoiceFilter name="error_kind" label="Kind of the error" values={errorKinds} />
        <ChoiceFilter name="priority" label="Priority" values={tiers} />
        <TimeFilter name="failed_after" label="Failed after" />
        <TimeFilter name="failed_before" label="Failed before" />
        <a href={href(["dead-letters"], { tenant: chosenTenant.value })}>Clear</a>
      </form>
    </details>
  </search>
);

interface ListProps {
  groups: readonly Group[];
  /** The query of the page that stays as a group is opened. */
  filter: Filter;
  fresh: readonly Group[];
  last: Deployment | undefined;
  open: Group | undefined;
}

const GroupList = ({ groups, filter, fresh, last, open }: ListProps) => (
  <nav aria-label="Groups">
    <ol class="group-list">
      {groups.map((group) => (
        <GroupItem
          key={`${group.type} ${group.fingerprint}`}
          {...{ group, filter }}
          since={fresh.includes(group) ? last : undefined}
          isOpen={group === open}
        />
      ))}
    </ol>
  </nav>
);

interface ItemProps {
  group: Group;
  filter: Filter;
  /** The deployment since which the group is there. Undefined: it was there before. */
  since: Deployment | undefined;
  isOpen: boolean;
}

function GroupItem({ group, filter, since, isOpen }: ItemProps) {
  const { type, fingerprint, error, error_kind, by_tenant, last_failed_at, hint } = group;
  const place = href(["dead-letters"], { ...filter, type, fingerprint, tenant: chosenTenant.value });
  const whom = Object.entries(by_tenant ?? {}).map(([name, number]) => `${name} ${count(number)}`);
  return (
    <li class={isOpen ? "on" : undefined}>
      <strong class="number">{count(group.count)}</strong>
      <div>
        <p>
          <a class="whole" href={place} aria-current={isOpen ? "true" : undefined}>
            <Text of={type} most={64} />
          </a>{" "}
          {hint && <span class="tag again">{hint}</span>}
          {error_kind === "business_rule" && <span class="tag again">needs a person</span>}
        </p>
        <p class="one-line">
          <Text of={error ?? "no error text"} most={200} />
        </p>
        {since !== undefined && <p class="sub">since {deploymentName(since, now.value)}</p>}
        <p class="one-line sub">
          <Text of={[error_kind ?? "–", ...whom].join(", ")} most={200} />
        </p>
      </div>
      <span class="muted">
        <Time at={last_failed_at} />
      </span>
    </li>
  );
}
