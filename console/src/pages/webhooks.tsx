import { useSignal } from "@preact/signals";
import type { FailedWebhook, WebhookSecret } from "../../../src/api/acts/views.ts";
import { Action, Ask } from "../parts/action.tsx";
import { Curl } from "../parts/curl.tsx";
import { Dialog, FormDialog } from "../parts/dialog.tsx";
import { Page, ReadAgain, Section } from "../parts/layout.tsx";
import { PagedTable, usePaged } from "../parts/paged.tsx";
import type { Column } from "../parts/table.tsx";
import { Text, Time } from "../parts/text.tsx";
import { allTenants, api, hrefOf, tenant } from "../session.ts";
import { setting } from "../signals.ts";
import { ReceiverPage } from "./receiver-one.tsx";
import { Receivers } from "./receivers.tsx";

/** Receivers, webhooks that were given up, and the secret of a tenant's webhooks; or one receiver. */
export function WebhooksPage({ rest }: { rest: readonly string[] }) {
  const [step] = rest;
  return step === undefined ? <Webhooks /> : <ReceiverPage key={step} webhookId={step} />;
}

function Webhooks() {
  const deliveries = usePaged<FailedWebhook>("/deliveries", "deliveries", { status: "failed" });
  return (
    <Page title="Webhooks">
      <Receivers />
      <Section title="Given up" actions={<ReadAgain of={deliveries} />}>
        <PagedTable
          of={deliveries}
          nothing="No webhook was given up. One that fails is tried for nine hours; its task's page shows the tries."
          label="Webhooks that were given up"
          keyOf={({ webhook_id }) => webhook_id}
          columns={columns}
        />
        <Curl of={deliveries.request} />
      </Section>
      {tenant.value !== allTenants && <SecretSection />}
    </Page>
  );
}

const columns: readonly Column<FailedWebhook>[] = [
  {
    name: "Task",
    cell: (webhook) => (
      <a href={hrefOf(["tasks", webhook.task_id], webhook)}>
        <Text of={webhook.type} most={64} />
      </a>
    ),
  },
  { name: "URL", cell: ({ url }) => <Text of={url} most={120} /> },
  { name: "Tries", cell: ({ tries }) => tries, numeric: true },
  { name: "Last try", cell: ({ last_try_at }) => <Time at={last_try_at} /> },
  {
    name: "Last answer",
    cell: ({ last_status, last_error }) => last_status ?? (last_error && <Text of={last_error} most={200} />),
  },
  {
    name: "",
    cell: ({ task_id }) => (
      <Action
        run={() => api.send("POST", `/tasks/${task_id}/deliveries/redeliver`, {})}
        done="The webhook is sent again."
      >
        Send again
      </Action>
    ),
  },
];

/** The secret is read when somebody asks for it. */
function SecretSection() {
  const shown = useSignal<WebhookSecret | undefined>(undefined);
  const rotating = useSignal(false);
  return (
    <Section
      title="Secret"
      actions={
        <>
          <Action
            run={async () => {
              shown.value = await api.get<WebhookSecret>("/webhooks/secret");
            }}
          >
            Show the secret …
          </Action>
          <Ask danger onClick={setting(rotating, true)}>
            Rotate …
          </Ask>
        </>
      }
    >
      <p class="muted">
        It signs the webhooks of {tenant.value} that submits ask for. Each receiver above has a secret of its own.
      </p>
      {shown.value !== undefined && (
        <Dialog title={`Secret of ${shown.value.tenant_id}`} onClose={setting(shown, undefined)}>
          <pre class="id">{shown.value.secret}</pre>
          {shown.value.also_signing > 0 && (
            <p>Webhooks are signed with the secret before it, too, until that one expires.</p>
          )}
          <div class="dialog-actions">
            <button type="button" onClick={setting(shown, undefined)}>
              Close
            </button>
          </div>
        </Dialog>
      )}
      {rotating.value && (
        <FormDialog
          title="Rotate the secret"
          action="Rotate"
          danger
          run={() => api.send("POST", "/webhooks/secret/rotate", {})}
          onClose={setting(rotating, false)}
        >
          <p>Webhooks are signed with the new and the old secret for a while, so receivers have time to change.</p>
        </FormDialog>
      )}
    </Section>
  );
}
