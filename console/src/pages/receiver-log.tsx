import { useSignal } from "@preact/signals";
import type { ReceiverDelivery } from "../../../src/api/acts/views.ts";
import { duration, visible } from "../format.ts";
import { Ask } from "../parts/action.tsx";
import { Curl } from "../parts/curl.tsx";
import { ChoiceFilter, TimeFilter } from "../parts/filter.tsx";
import { Json } from "../parts/json.tsx";
import { Facts, ReadAgain, Section } from "../parts/layout.tsx";
import { type Bulk, BulkDialog } from "../parts/operation.tsx";
import { type Paged, PagedRows, usePaged } from "../parts/paged.tsx";
import { Table } from "../parts/table.tsx";
import { Status, Text, Time } from "../parts/text.tsx";
import { href, route } from "../route.ts";
import { chosenTenant, type PathOf } from "../session.ts";
import { toggling, useShown } from "../signals.ts";
import { bodyValue } from "./receiver-state.ts";

/** The deliveries of a receiver, newest first, as the filters in the URL say. */
export function useDeliveryLog(path: PathOf<"GET">): Paged<ReceiverDelivery> {
  const { status, after, before } = route.value.query;
  return usePaged<ReceiverDelivery>(path, "deliveries", { status, after, before });
}

/** @param path Where deliveries are sent again. */
export function DeliveryLog({ of, path }: { of: Paged<ReceiverDelivery>; path: PathOf<"POST"> }) {
  const bulk = useShown<Bulk>(of.reload);
  return (
    <Section
      title="Deliveries"
      actions={
        <>
          <ReadAgain of={of} />
          <Ask onClick={() => bulk.show(replayOf(path))}>Deliver again …</Ask>
        </>
      }
    >
      <form class="filters" onSubmit={(event) => event.preventDefault()}>
        <ChoiceFilter name="status" label="Status" values={["pending", "delivered", "failed"]} />
        <TimeFilter name="after" label="Begun after" />
        <TimeFilter name="before" label="Begun before" />
      </form>
      <PagedRows of={of} nothing="There is no delivery, or none that the filters find.">
        {(rows) => rows.map((one) => <Delivery key={one.delivery_id} of={one} />)}
      </PagedRows>
      <Curl of={of.request} />
      {bulk.value !== undefined && <BulkDialog bulk={bulk.value} onClose={bulk.close} />}
    </Section>
  );
}

/**
 * A replay covers the filters' range of time: failed deliveries, or the arrived ones if the list shows them.
 */
function replayOf(path: PathOf<"POST">): Bulk {
  const { status, after, before } = route.value.query;
  return {
    title: "Deliver again",
    action: "Deliver",
    path,
    body: {
      status: status === "delivered" ? status : "failed",
      ...(after !== undefined && { after }),
      ...(before !== undefined && { before }),
    },
    hasRate: true,
    things: "deliveries",
  };
}

function Delivery({ of }: { of: ReceiverDelivery }) {
  const open = useSignal(false);
  const { created_at, status, event, type } = of;
  return (
    <details onToggle={toggling(open)}>
      <summary>
        <Time at={created_at} /> · <Status of={status} /> · {event}
        {type !== event && (
          <>
            {" "}
            · <Text of={type} most={64} />
          </>
        )}
      </summary>
      {open.value && <DeliveryParts of={of} />}
    </details>
  );
}

function DeliveryParts({ of: { task_id, delivery_id, url, next_try_at, tries, body } }: { of: ReceiverDelivery }) {
  const value = bodyValue(body);
  return (
    <div class="card">
      {task_id !== null && <a href={href(["tasks", task_id], { tenant: chosenTenant.value })}>Open the task</a>}
      <Facts
        of={[
          ["URL", <Text key="url" of={url} most={2_048} />],
          next_try_at !== null && ["Next try", <Time key="next" at={next_try_at} />],
          ["Delivery id", <Text key="id" of={delivery_id} />],
        ]}
      />
      <Table
        label="Tries of the delivery"
        rows={tries.slice(-100)}
        keyOf={({ number }) => String(number)}
        columns={[
          { name: "Try", cell: ({ number }) => number, numeric: true },
          { name: "Time", cell: ({ at }) => <Time at={at} exact /> },
          { name: "Took", cell: ({ duration_ms }) => duration(duration_ms), numeric: true },
          { name: "Status", cell: ({ status, error }) => status ?? (error && <Text of={error} most={200} />) },
          { name: "Start of the answer", cell: ({ answer }) => answer !== null && <Text of={answer} most={1_024} /> },
        ]}
      />
      {value === undefined ? (
        // biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls must be reachable by keyboard.
        <pre tabIndex={0}>{visible(body)} …</pre>
      ) : (
        <Json of={value} label="Body of the request" />
      )}
    </div>
  );
}
