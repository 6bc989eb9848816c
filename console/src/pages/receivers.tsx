import type { ReceiverView } from "../../../src/api/acts/views.ts";
import { Ask } from "../parts/action.tsx";
import { Curl } from "../parts/curl.tsx";
import { ReadAgain, Section } from "../parts/layout.tsx";
import { PagedTable, usePaged } from "../parts/paged.tsx";
import type { Column } from "../parts/table.tsx";
import { Status, Text, Time } from "../parts/text.tsx";
import { allTenants, hrefOf, tenant, tenantName } from "../session.ts";
import { useShown } from "../signals.ts";
import { CreateReceiver } from "./receiver-form.tsx";
import { receiverState } from "./receiver-state.ts";

/** The receivers of webhooks, which get a webhook for each end that they ask for. */
export function Receivers() {
  const receivers = usePaged<ReceiverView>("/webhooks", "webhooks");
  const creating = useShown<true>(receivers.reload);
  const isOfAll = tenant.value === allTenants;
  const none = isOfAll ? "No tenant has a receiver." : `${tenantName.value} has no receiver.`;
  return (
    <Section
      title="Receivers"
      actions={
        <>
          <ReadAgain of={receivers} />
          {!isOfAll && (
            <Ask primary onClick={() => creating.show(true)}>
              New receiver …
            </Ask>
          )}
        </>
      }
    >
      <PagedTable
        of={receivers}
        nothing={`${none} One gets a webhook for each end of a task that it asks for.`}
        label="Receivers"
        keyOf={({ webhook_id }) => webhook_id}
        columns={isOfAll ? [tenantColumn, ...columns] : columns}
      />
      <Curl of={receivers.request} />
      {creating.value && <CreateReceiver onClose={creating.close} />}
    </Section>
  );
}

const tenantColumn: Column<ReceiverView> = {
  name: "Tenant",
  cell: ({ tenant_id = "" }) => <Text of={tenant_id} most={64} />,
};

const columns: readonly Column<ReceiverView>[] = [
  {
    name: "URL",
    cell: (receiver) => (
      <a class="named" href={hrefOf(["webhooks", receiver.webhook_id], receiver)}>
        <Text of={receiver.url} most={120} />
      </a>
    ),
  },
  { name: "State", cell: (receiver) => <ReceiverStateText of={receiver} /> },
  { name: "Ends", cell: ({ events }) => eventWords(events) },
  { name: "Types", cell: ({ types }) => (types === null ? "all" : <Text of={types.join(", ")} most={120} />) },
  { name: "Description", cell: ({ description }) => description !== null && <Text of={description} most={120} /> },
];

/** `completed, failed`, or `all`. */
export const eventWords = (events: ReceiverView["events"]): string =>
  events.length === 4 ? "all" : events.map((event) => event.replace("task.", "")).join(", ");

export function ReceiverStateText({ of }: { of: ReceiverView }) {
  const { state, words, since } = receiverState(of);
  return (
    <>
      <Status of={state} /> {words}
      {since !== null && (
        <span class="muted">
          {" "}
          (<Time at={since} />)
        </span>
      )}
    </>
  );
}
