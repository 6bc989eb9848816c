import { useSignal } from "@preact/signals";
import type { DeadLetterView } from "../../../src/core/control/find-dead-letters.ts";
import type { LetterGroups } from "../../../src/core/control/group-dead-letters.ts";
import type { Deployment } from "../../../src/core/schedules/ports.ts";
import { marksIn } from "../deployments.ts";
import { count, counted, visible } from "../format.ts";
import { Ask } from "../parts/action.tsx";
import { MarkLegend, MarkLines, SinceDeployment } from "../parts/deployments.tsx";
import { Icon } from "../parts/icon.tsx";
import { Json } from "../parts/json.tsx";
import { Section } from "../parts/layout.tsx";
import type { Bulk } from "../parts/operation.tsx";
import { type Paged, PagedRows, usePaged } from "../parts/paged.tsx";
import { Id, now, Text, Time } from "../parts/text.tsx";
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

interface DetailProps {
  group: Group;
  filter: Filter;
  start: Start;
  deployments: readonly Deployment[];
  last: Deployment | undefined;
  /** True: the group is new since the last deployment. */
  isNew: boolean;
}

/** One group: why, what can be done, whom, where in the code, and its newest dead letters. */
export function GroupDetail({ group, filter, start, last, isNew, deployments }: DetailProps) {
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
          {isNew && ", "}
          <SinceDeployment last={last} is={isNew} type={type} />
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
        <When of={letters} group={group} deployments={deployments} />
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

interface WhenProps {
  of: Paged<DeadLetterView>;
  group: Group;
  deployments: readonly Deployment[];
}

/** The times of the failures; as bars where all dead letters of the group are read: the API has no counts by time. */
function When({ of, group, deployments }: WhenProps) {
  const times = of.rows.map(({ last_failed_at }) => Date.parse(last_failed_at));
  const isWhole = !of.hasMore && times.length >= group.count && times.length > 1;
  return isWhole ? (
    <Section title="When">
      <Bars of={times} deployments={deployments} />
    </Section>
  ) : null;
}

/** The time of the bars: of the failures, and of the deployment before them where it is as near as they are long. */
export function spanOf(times: readonly number[], deployments: readonly Deployment[]): [from: number, to: number] {
  const [from, to] = [Math.min(...times), Math.max(...times)];
  const before = deployments.map(({ started_at }) => Date.parse(started_at)).find((ms) => ms <= from);
  return before !== undefined && from - before <= to - from ? [before, to] : [from, to];
}

function Bars({ of: times, deployments }: { of: readonly number[]; deployments: readonly Deployment[] }) {
  const [from, to] = spanOf(times, deployments);
  const until = deployments.filter(({ started_at }) => Date.parse(started_at) <= to);
  const marks = marksIn(until, from, to, now.value);
  const numbers = Array<number>(bins).fill(0);
  for (const ms of times) {
    const bin = Math.min(bins - 1, Math.floor((bins * (ms - from)) / Math.max(1, to - from)));
    numbers[bin] = (numbers[bin] ?? 0) + 1;
  }
  const most = Math.max(...numbers);
  const places = numbers.map((number, bin) => ({ bin, high: (48 * number) / most })).filter(({ high }) => high > 0);
  return (
    <>
      <div class="plot">
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
        <MarkLines of={marks} />
      </div>
      {marks.length > 0 && (
        <p class="legend">
          <MarkLegend of={marks} />
        </p>
      )}
    </>
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
