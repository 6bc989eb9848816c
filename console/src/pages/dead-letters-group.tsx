import { useSignal } from "@preact/signals";
import type { DeadLetterView } from "../../../src/core/control/find-letters.ts";
import type { LetterGroups } from "../../../src/core/control/group-letters.ts";
import { count, counted, visible } from "../format.ts";
import { Ask } from "../parts/action.tsx";
import { Icon } from "../parts/icon.tsx";
import { Json } from "../parts/json.tsx";
import { Section } from "../parts/layout.tsx";
import type { Bulk } from "../parts/operation.tsx";
import { type Paged, PagedRows, usePaged } from "../parts/paged.tsx";
import { Id, Text, Time } from "../parts/text.tsx";
import { hrefOf, mayChange, maySeeInputs } from "../session.ts";
import { setting, toggling } from "../signals.ts";
import { Code, kinds } from "./task-cause.tsx";

export type Filter = Readonly<Record<string, string>>;
export type Group = LetterGroups["groups"][number];

/** Asks before an operation on a selection. */
export type Start = (act: "replay" | "discard", selection: Bulk["body"]) => void;

const hints: Readonly<Record<string, string>> = {
  credentials: "another service refused the credentials",
  bug: "the code is wrong: a replay needs a deployment with a mended one",
};

/** Dead letters of a group that are shown at first. */
const newestShown = 15;

/** One group: why, what can be done, whom, where in the code, and its newest dead letters. */
export function GroupDetail({ group, filter, start }: { group: Group; filter: Filter; start: Start }) {
  const { type, fingerprint, error, error_type, error_kind, hint, task_id, first_failed_at, by_tenant } = group;
  const query = { ...filter, type, fingerprint };
  const letters = usePaged<DeadLetterView>("/dead-letters", "dead_letters", query);
  const all = useSignal(false);
  const stack = letters.rows.find((letter) => letter.stack !== null)?.stack;
  return (
    <>
      <section class="group-head" aria-label="The group">
        <p class="bad">
          <Icon of="failed" /> {counted(group.count, "task")} since <Time at={first_failed_at} />
        </p>
        <h2>
          {count(group.count)} × <Text of={type} most={64} />
        </h2>
        <p class="trouble">
          <Text of={error ?? "The error has no text."} most={1_000} />
        </p>
        <p>
          {error_kind !== null && <span class="tag again">{error_kind}</span>}
          <span class="muted">
            {error_type !== null && <Text of={`${error_type}, `} most={128} />}
            {hint === undefined ? error_kind !== null && kinds[error_kind] : hints[hint]}
          </span>
        </p>
        <div class="actions">
          <Ask primary onClick={() => start("replay", { filter: query })}>
            Replay {count(group.count)} …
          </Ask>
          {group.count > 1 && by_tenant === undefined && (
            <Ask onClick={() => start("replay", { task_ids: [task_id] })}>Replay 1 first …</Ask>
          )}
          <Ask danger onClick={() => start("discard", { filter: query })}>
            Discard {count(group.count)} …
          </Ask>
        </div>
      </section>
      <div class="cards">
        <When of={letters} group={group} />
        {by_tenant !== undefined && <Whom of={by_tenant} all={group.count} />}
      </div>
      {stack && (
        <Section title="Where">
          <Code of={stack} />
        </Section>
      )}
      <Section title="Newest">
        <PagedRows of={letters} nothing="There is none any more.">
          {(rows) => (
            <>
              {rows.slice(0, all.value ? rows.length : newestShown).map((letter) => (
                <Letter key={letter.task_id} {...{ letter, start }} />
              ))}
              {!all.value && rows.length > newestShown && (
                <button type="button" class="quiet" onClick={setting(all, true)}>
                  {count(rows.length - newestShown)} more
                </button>
              )}
            </>
          )}
        </PagedRows>
      </Section>
    </>
  );
}

/** Bars of a group's time. */
const bins = 36;

/** The times of the failures; as bars where all dead letters of the group are read: the API has no counts by time. */
function When({ of, group }: { of: Paged<DeadLetterView>; group: Group }) {
  const times = of.rows.map(({ last_failed_at }) => Date.parse(last_failed_at));
  const isWhole = !of.hasMore && times.length >= group.count && times.length > 1;
  return isWhole ? (
    <Section title="When">
      <Bars of={times} />
    </Section>
  ) : null;
}

function Bars({ of: times }: { of: readonly number[] }) {
  const [from, to] = [Math.min(...times), Math.max(...times)];
  const numbers = Array<number>(bins).fill(0);
  for (const ms of times) {
    const bin = Math.min(bins - 1, Math.floor((bins * (ms - from)) / Math.max(1, to - from)));
    numbers[bin] = (numbers[bin] ?? 0) + 1;
  }
  const most = Math.max(...numbers);
  const places = numbers.map((number, bin) => ({ bin, high: (48 * number) / most })).filter(({ high }) => high > 0);
  return (
    <svg class="when" width="100%" height="50" aria-hidden="true">
      {places.map(({ bin, high }) => (
        <rect
          key={bin}
          class="m-failed"
          x={`${((100 * bin) / bins).toFixed(2)}%`}
          width={`${(80 / bins).toFixed(2)}%`}
          y={50 - Math.max(2, high)}
          height={Math.max(2, high)}
        />
      ))}
    </svg>
  );
}

/** Tenants whose tasks are in a group, those with most first. */
const mostTenants = 8;

function Whom({ of, all }: { of: Readonly<Record<string, number>>; all: number }) {
  const sorted = Object.entries(of).sort(([, one], [, other]) => other - one);
  return (
    <Section title="Whom">
      <ul class="whom">
        {sorted.slice(0, mostTenants).map(([name, number]) => (
          <li key={name}>
            <Text of={name} most={64} />
            <svg class="strip" width="100%" height="6" aria-hidden="true">
              <rect class="m-wait" width="100%" height="6" />
              <rect class="m-run" width={`${(100 * number) / Math.max(1, all)}%`} height="6" />
            </svg>
            <span class="number">{count(number)}</span>
          </li>
        ))}
      </ul>
      {sorted.length > mostTenants && <p class="muted">{count(sorted.length - mostTenants)} more tenants</p>}
    </Section>
  );
}

function Letter({ letter, start }: { letter: DeadLetterView; start: Start }) {
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
          <p>After {counted(attempts, "attempt")}.</p>
          {stack !== null && <pre>{visible(stack)}</pre>}
          {maySeeInputs() && <Json of={input} label={`Input of ${task_id}`} />}
        </div>
      )}
    </details>
  );
}
