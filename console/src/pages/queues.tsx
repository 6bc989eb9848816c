import type { QueueView } from "../../../src/api/acts/views.ts";
import { type Tier, tiers } from "../../../src/core/model/words.ts";
import { count, duration } from "../format.ts";
import { useLoad } from "../load.ts";
import { Curl } from "../parts/curl.tsx";
import { useDeployments } from "../parts/deployments.tsx";
import { FormDialog } from "../parts/dialog.tsx";
import { Answer, Page } from "../parts/layout.tsx";
import { Table } from "../parts/table.tsx";
import { Time } from "../parts/text.tsx";
import { api } from "../session.ts";
import { useShown } from "../signals.ts";
import { Charts } from "./overview-charts.tsx";

interface Row extends QueueView {
  tier: Tier;
}

interface QueuesAnswer {
  queues: Record<Tier, QueueView>;
  rescue: { at: string; open: number; sent: number; ended: number; left: number } | null;
}

/** The queues of the four tiers. */
export function QueuesPage() {
  const queues = useLoad("queues", () => api.get<QueuesAnswer>("/queues"), { everyMs: 5_000 });
  const chosen = useShown<Row>(queues.reload);
  return (
    <Page title="Queues" state={stoppedText(queues.value)}>
      <section class="card">
        <Answer of={queues}>
          {(answer) => (
            <>
              <Queues rows={tiers.map((tier) => ({ tier, ...answer.queues[tier] }))} choose={chosen.show} />
              <LastLook of={answer.rescue} />
            </>
          )}
        </Answer>
      </section>
      <Charts deployments={useDeployments()} />
      <Curl of={{ path: "/queues" }} />
      {chosen.value !== undefined && <PauseDialog of={chosen.value} onClose={chosen.close} />}
    </Page>
  );
}

/** The number of tiers that start nothing, for the window's title. */
function stoppedText(answer: QueuesAnswer | undefined): string | undefined {
  const stopped = Object.values(answer?.queues ?? {}).filter(({ paused }) => paused).length;
  return stopped === 0 ? undefined : `${stopped} paused`;
}

/** The last daily look for open tasks that nothing wakes. */
const LastLook = ({ of }: { of: QueuesAnswer["rescue"] }) =>
  of === null ? (
    <p>No look for open tasks that nothing wakes yet: it comes once a day.</p>
  ) : (
    <p>
      Last look for tasks that nothing wakes: <Time at={of.at} />, {count(of.open)} open, {count(of.sent)} sent again,{" "}
      {count(of.ended)} ended, {count(of.left)} left alone.
    </p>
  );

const Queues = ({ rows, choose }: { rows: readonly Row[]; choose: (row: Row) => void }) => (
  <Table
    label="Queues"
    rows={rows}
    keyOf={({ tier }) => tier}
    columns={[
      { name: "Tier", cell: ({ tier }) => tier },
      { name: "Waiting", cell: ({ visible }) => count(visible), numeric: true },
      {
        name: "Oldest",
        cell: ({ oldest_age_seconds: age }) => (age === null ? "unknown" : duration(age * 1000)),
        numeric: true,
      },
      { name: "In flight", cell: ({ in_flight }) => count(in_flight), numeric: true },
      { name: "Delayed", cell: ({ delayed }) => count(delayed), numeric: true },
      { name: "Dead letters", cell: ({ dead_letters }) => count(dead_letters), numeric: true },
      {
        name: "Paused",
        cell: ({ paused_since }) => (paused_since === null ? "no" : <Time at={paused_since} />),
      },
      {
        name: "Refuses submits",
        cell: ({ refusing_since }) => (refusing_since ? <Time at={refusing_since} /> : "no"),
      },
      {
        name: "",
        cell: (row) => (
          <button type="button" class="quiet" onClick={() => choose(row)}>
            {row.paused ? "Resume" : "Pause"} {row.tier} …
          </button>
        ),
      },
    ]}
  />
);

function PauseDialog({ of, onClose }: { of: Row; onClose: () => void }) {
  const verb = of.paused ? "resume" : "pause";
  return (
    <FormDialog
      title={`${of.paused ? "Resume" : "Pause"} the tier ${of.tier}`}
      action={of.paused ? "Resume" : "Pause"}
      danger={!of.paused}
      run={() => api.send("POST", `/queues/${of.tier}/${verb}`, {})}
      onClose={onClose}
    >
      <p>
        {of.paused
          ? "The tasks that wait start within about three seconds, in order of submission."
          : "For all tenants: tasks are accepted and wait. Those that run go on. The answer comes when no worker starts another one, after about three seconds."}
      </p>
    </FormDialog>
  );
}
