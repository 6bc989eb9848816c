import type { TypeList } from "../../../src/client/flow.ts";
import type { TypeView } from "../../../src/operations/views.ts";
import { count, duration } from "../format.ts";
import { useLive } from "../live-load.ts";
import { Ask } from "../parts/action.tsx";
import { Curl } from "../parts/curl.tsx";
import { Json } from "../parts/json.tsx";
import { Answer, Facts, Nothing, Page } from "../parts/layout.tsx";
import { Text, Time } from "../parts/text.tsx";
import { href } from "../route.ts";
import { api, chosenTenant, may, mayChange, tenant } from "../session.ts";
import { useShown } from "../signals.ts";
import { LimitsDialog, PauseDialog } from "./types-dialogs.tsx";

type Open = { act: "tenant" | "all" | "limits"; of: TypeView };

/** The task types: limits, pauses and breakers. */
export function TypesPage() {
  const types = useLive(`types ${tenant.value}`, (signal) => api.get<TypeList>("/types", undefined, { signal }));
  const { value: open, show, close } = useShown<Open>(types.reload);
  return (
    <Page title="Types">
      <Answer of={types}>
        {(answer) =>
          answer.types.length === 0 ? (
            <Nothing>The deployment has no task types.</Nothing>
          ) : (
            answer.types.map((type) => <TypeCard key={type.name} {...{ type, show }} />)
          )
        }
      </Answer>
      <Curl of={{ path: "/types" }} />
      {open?.act === "limits" && <LimitsDialog of={open.of} onClose={close} />}
      {(open?.act === "tenant" || open?.act === "all") && (
        <PauseDialog of={open.of} all={open.act === "all"} onClose={close} />
      )}
    </Page>
  );
}

function TypeCard({ type, show }: { type: TypeView; show: (open: Open) => void }) {
  const { name, paused } = type;
  const keep = { type: name, tenant: chosenTenant.value };
  const verb = (since: string | null | undefined) => (since == null ? "Pause" : "Resume");
  return (
    <article class="card">
      <header class="card-head">
        <h2>
          <Text of={name} most={64} />
        </h2>
        <div class="actions">
          <a href={href(["tasks"], keep)}>Tasks of {name}</a>
          <a href={href(["dead-letters"], keep)}>Dead letters of {name}</a>
          {mayChange() && <a href={href(["submit"], keep)}>Submit {name}</a>}
          <Ask onClick={() => show({ act: "tenant", of: type })}>
            {verb(paused?.tenant)} {name} for {tenant.value} …
          </Ask>
          {may("admin") && (
            <Ask onClick={() => show({ act: "all", of: type })}>
              {verb(paused?.all)} {name} for all …
            </Ask>
          )}
          {may("admin") && (type.concurrency !== null || type.rate_limit !== null) && (
            <Ask onClick={() => show({ act: "limits", of: type })}>Limits of {name} …</Ask>
          )}
        </div>
      </header>
      {type.description && (
        <p>
          <Text of={type.description} most={500} />
        </p>
      )}
      <Paused whom="all tenants" since={paused?.all} />
      <Paused whom={tenant.value} since={paused?.tenant} />
      <TypeFacts type={type} />
      <details>
        <summary>Schema of the input</summary>
        <Json of={type.input_schema} label={`Schema of the input of ${name}`} />
      </details>
    </article>
  );
}

const Paused = ({ whom, since }: { whom: string; since: string | null | undefined }) =>
  since == null ? null : (
    <p class="status pending">
      Paused for {whom} since <Time at={since} />: accepted tasks wait.
    </p>
  );

const shared = ({ keyed, scope }: { keyed: boolean; scope: string }): string =>
  `${keyed ? " of one key" : ""}${scope === "deployment" ? ", all tenants together" : ", each tenant"}`;

function TypeFacts({ type }: { type: TypeView }) {
  const { concurrency, rate_limit: rate, breaker } = type;
  return (
    <Facts
      of={[
        ["Priority", type.priority],
        ["Runs on", type.runs_on],
        ["Time-out", duration(type.timeout_seconds * 1000)],
        ["Most attempts", count(type.max_attempts)],
        ["Version", count(type.version)],
        concurrency !== null && ["At the same time", `${count(concurrency.limit)}${shared(concurrency)}`],
        rate !== null && ["Starts", `${count(rate.limit)} in ${duration(rate.per_seconds * 1000)}${shared(rate)}`],
        breaker !== null && [
          "Breaker",
          breaker.state === "closed" ? (
            `closed, ${count(breaker.failures_in_a_row)} of ${count(breaker.failures)} failures`
          ) : (
            <span key="open" class="status failed">
              open until <Time at={breaker.open_until} />
            </span>
          ),
        ],
      ]}
    />
  );
}
