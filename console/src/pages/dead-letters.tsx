import { useSignal } from "@preact/signals";
import type { DeadLetterView } from "../../../src/core/control/find-letters.ts";
import type { LetterGroups } from "../../../src/core/control/group-letters.ts";
import { errorKinds } from "../../../src/core/model/errors.ts";
import { tiers } from "../../../src/core/model/tier.ts";
import { count, visible } from "../format.ts";
import { useLive } from "../live-load.ts";
import { Ask } from "../parts/action.tsx";
import { Curl } from "../parts/curl.tsx";
import { ChoiceFilter, TextFilter, TimeFilter } from "../parts/filter.tsx";
import { Json } from "../parts/json.tsx";
import { Answer, Facts, Nothing, Page, Section } from "../parts/layout.tsx";
import { type Bulk, BulkDialog } from "../parts/operation.tsx";
import { PagedRows, usePaged } from "../parts/paged.tsx";
import { Id, Text, Time } from "../parts/text.tsx";
import { href, route } from "../route.ts";
import { api, chosenTenant, hrefOf, mayChange, maySeeInputs, tenant } from "../session.ts";
import { toggling, useShown } from "../signals.ts";

/** Fields of the filter, in the page's URL and in the API. */
const names = [
  ...(["type", "error_type", "error_kind", "priority", "failed_after", "failed_before", "fingerprint"] as const),
];
type Filter = Readonly<Record<string, string>>;
type Group = LetterGroups["groups"][number];

const filterOf = (query: Filter): Filter =>
  Object.fromEntries(names.flatMap((name) => (query[name] ? [[name, query[name]]] : [])));

/** Tasks that failed permanently: by type and error, and each of them. */
export function DeadLettersPage() {
  const filter = filterOf(route.value.query);
  const times = useSignal(0);
  const bulk = useShown<Bulk>(() => {
    times.value += 1;
  });
  const start = (act: "replay" | "discard", selection: Bulk["body"]) => bulk.show(bulkOf(act, selection));
  const key = JSON.stringify([filter, tenant.value, times.value]);
  const groups = useLive(
    `groups ${key}`,
    (signal) => api.get<LetterGroups>("/dead-letters/groups", filter, { signal }),
    { leastMs: 5_000 },
  );
  return (
    <Page
      title="Dead letters"
      actions={
        <>
          <Ask onClick={() => start("replay", { filter })}>Replay all found …</Ask>
          <Ask danger onClick={() => start("discard", { filter })}>
            Discard all found …
          </Ask>
        </>
      }
    >
      <Filters />
      <Answer of={groups}>{(answer) => <Groups {...{ answer, filter, start }} />}</Answer>
      {filter.fingerprint !== undefined && <Letters key={key} {...{ filter, start }} />}
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

const Filters = () => (
  <search class="card">
    <details open={matchMedia("(min-width: 641px)").matches}>
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

interface GroupsProps {
  answer: LetterGroups;
  filter: Filter;
  start: (act: "replay" | "discard", selection: Bulk["body"]) => void;
}

function Groups({ answer, filter, start }: GroupsProps) {
  if (answer.groups.length === 0 && answer.complete)
    return <Nothing>No task failed permanently, or none that the filter finds.</Nothing>;
  return (
    <>
      {!answer.complete && (
        <p class="failure">Only the newest 10,000 dead letters are counted here. Narrow the times to see the others.</p>
      )}
      {answer.groups.map((group) => (
        <GroupCard key={`${group.type} ${group.fingerprint}`} {...{ group, filter, start }} />
      ))}
    </>
  );
}

function GroupCard({ group, filter, start }: Omit<GroupsProps, "answer"> & { group: Group }) {
  const { type, fingerprint } = group;
  const selection = { filter: { ...filter, type, fingerprint } };
  const isOpen = filter.fingerprint === fingerprint && filter.type === type;
  const shown = href(["dead-letters"], {
    ...filter,
    ...(isOpen ? { type: undefined, fingerprint: undefined } : { type, fingerprint }),
    tenant: chosenTenant.value,
  });
  return (
    <article class="card">
      <header class="card-head">
        <h2>
          {count(group.count)} × <Text of={type} most={64} />
        </h2>
        <div class="actions">
          <a href={shown}>{isOpen ? "Hide the dead letters" : "Show the dead letters"}</a>
          <Ask onClick={() => start("replay", selection)}>Replay {count(group.count)} …</Ask>
          <Ask danger onClick={() => start("discard", selection)}>
            Discard {count(group.count)} …
          </Ask>
        </div>
      </header>
      <p class="status failed">
        <Text of={group.error ?? "no error text"} most={500} />
      </p>
      <Facts
        of={[
          ["Class of the error", group.error_type === null ? "–" : <Text of={group.error_type} most={128} />],
          ["Kind", [group.error_kind ?? "–", group.hint].join(" ")],
          ["First failed", <Time key="first" at={group.first_failed_at} />],
          ["Last failed", <Time key="last" at={group.last_failed_at} />],
        ]}
      />
    </article>
  );
}

/** The dead letters of the group that is open. */
function Letters({ filter, start }: { filter: Filter; start: GroupsProps["start"] }) {
  const letters = usePaged<DeadLetterView>("/dead-letters", "dead_letters", filter);
  return (
    <Section title="Of this group">
      <PagedRows of={letters} nothing="There is none any more.">
        {(rows) => rows.map((letter) => <Letter key={letter.task_id} {...{ letter, start }} />)}
      </PagedRows>
    </Section>
  );
}

function Letter({ letter, start }: { letter: DeadLetterView; start: GroupsProps["start"] }) {
  const open = useSignal(false);
  const { task_id, error, stack, input, attempts, last_failed_at, needs_review } = letter;
  return (
    <details onToggle={toggling(open)}>
      <summary>
        <Time at={last_failed_at} /> · <Id of={task_id} /> {needs_review && <strong>needs a person</strong>}{" "}
        <Text of={error ?? ""} most={120} />
      </summary>
      {open.value && (
        <div class="card">
          <div class="actions">
            <a href={hrefOf(["tasks", task_id], letter)}>Open the task{mayChange() && ", to edit its input"}</a>
            <Ask onClick={() => start("replay", { task_ids: [task_id] })}>Replay …</Ask>
            <Ask danger onClick={() => start("discard", { task_ids: [task_id] })}>
              Discard …
            </Ask>
          </div>
          <p>
            After {count(attempts)} {attempts === 1 ? "attempt" : "attempts"}.
          </p>
          {stack !== null && <pre>{visible(stack)}</pre>}
          {maySeeInputs() && <Json of={input} label={`Input of ${task_id}`} />}
        </div>
      )}
    </details>
  );
}
