import type { ReceiverSecret, ReceiverView } from "../../../src/api/acts/views.ts";
import { useLive } from "../live-load.ts";
import { Action, Ask, say } from "../parts/action.tsx";
import { Curl } from "../parts/curl.tsx";
import { FormDialog } from "../parts/dialog.tsx";
import { Answer, Facts, Page, Section } from "../parts/layout.tsx";
import { newSecret } from "../parts/new-secret.tsx";
import { Id, Text, Time } from "../parts/text.tsx";
import { go } from "../route.ts";
import { api, chosenTenant, tenant } from "../session.ts";
import { useShown } from "../signals.ts";
import { ReceiverForm } from "./receiver-form.tsx";
import { DeliveryLog, useDeliveryLog } from "./receiver-log.tsx";
import { eventWords, ReceiverStateText } from "./receivers.tsx";

const receiverPath = <Part extends string = "">(webhookId: string, part = "" as Part) =>
  `/webhooks/${encodeURIComponent(webhookId)}${part}` as const;

type Dialogs = "change" | "rotate" | "delete";

/** One receiver: its state, its deliveries, and all that can be done with it. */
export function ReceiverPage({ webhookId }: { webhookId: string }) {
  const path = receiverPath(webhookId);
  const receiver = useLive(`receiver ${webhookId} ${tenant.value}`, (signal) =>
    api.get<ReceiverView>(path, undefined, { signal }),
  );
  const log = useDeliveryLog(receiverPath(webhookId, "/deliveries"));
  const dialog = useShown<Dialogs>(receiver.reload);
  const { value } = receiver;
  const reload = () => {
    receiver.reload();
    log.reload();
  };
  return (
    <Page
      title="Receiver of webhooks"
      actions={value !== undefined && <Actions of={value} show={dialog.show} reload={reload} />}
    >
      <Answer of={receiver}>
        {(of) => (
          <>
            <Trouble of={of} />
            <Section title="Receiver">
              <ReceiverFacts of={of} />
            </Section>
          </>
        )}
      </Answer>
      <DeliveryLog of={log} path={receiverPath(webhookId, "/replay")} />
      <Curl of={{ path }} />
      {value !== undefined && dialog.value === "change" && <ChangeDialog of={value} onClose={dialog.close} />}
      {dialog.value === "rotate" && <RotateDialog webhookId={webhookId} onClose={dialog.close} />}
      {value !== undefined && dialog.value === "delete" && <DeleteDialog of={value} onClose={dialog.close} />}
    </Page>
  );
}

function Actions({ of, show, reload }: { of: ReceiverView; show: (dialog: Dialogs) => void; reload: () => void }) {
  const { webhook_id, enabled } = of;
  const sendTest = () => api.send("POST", receiverPath(webhook_id, "/test"), {}).then(reload);
  const setEnabled = () => api.send("PATCH", receiverPath(webhook_id), { enabled: !enabled }).then(reload);
  return (
    <>
      {enabled && (
        <Action run={sendTest} done="A test is sent: the deliveries show its answer.">
          Send a test
        </Action>
      )}
      <Action
        run={setEnabled}
        primary={!enabled}
        done={enabled ? "The receiver gets no webhook until it is enabled." : "The receiver is enabled."}
      >
        {enabled ? "Disable" : "Enable"}
      </Action>
      <Ask onClick={() => show("change")}>Change …</Ask>
      <Ask onClick={() => show("rotate")}>Rotate the secret …</Ask>
      <Ask onClick={() => show("delete")}>Delete …</Ask>
    </>
  );
}

function Trouble({ of: { health, failing_since } }: { of: ReceiverView }) {
  if (health === "healthy") return null;
  return (
    <div class="failure" role="alert">
      {health === "disabled" ? (
        "Every try failed for five days, so Offload disabled the receiver. Mend it, enable it, then deliver again."
      ) : (
        <>
          Every try since <Time at={failing_since} exact /> has failed. After five days Offload disables the receiver.
        </>
      )}
    </div>
  );
}

const ReceiverFacts = ({ of }: { of: ReceiverView }) => (
  <Facts
    of={[
      ["State", <ReceiverStateText key="state" of={of} />],
      ["URL", <Text key="url" of={of.url} most={2_048} />],
      ["Ends of tasks", eventWords(of.events)],
      ["Task types", of.types === null ? "all" : <Text key="types" of={of.types.join(", ")} most={2_000} />],
      of.description !== null && ["Description", <Text key="description" of={of.description} />],
      ["Created", <Created key="created" of={of} />],
      ["Changed", <Time key="changed" at={of.updated_at} />],
      ["Webhook id", <Id key="id" of={of.webhook_id} />],
    ]}
  />
);

const Created = ({ of }: { of: ReceiverView }) => (
  <>
    <Time at={of.created_at} /> by <Text of={of.created_by} most={80} />
  </>
);

const ChangeDialog = ({ of, onClose }: { of: ReceiverView; onClose: () => void }) => (
  <ReceiverForm
    title="Change the receiver"
    action="Change"
    before={of}
    onClose={onClose}
    send={(body) => api.send("PATCH", receiverPath(of.webhook_id), body)}
  />
);

const RotateDialog = ({ webhookId, onClose }: { webhookId: string; onClose: () => void }) => (
  <FormDialog
    title="Rotate the receiver's secret"
    action="Rotate"
    danger
    onClose={onClose}
    run={async () => {
      const { secret } = await api.send<ReceiverSecret>("POST", receiverPath(webhookId, "/secret/rotate"), {});
      newSecret.value = { title: "The receiver's new secret", note: "The old one signs, too, for 24 hours.", secret };
    }}
  >
    <p>For 24 hours webhooks are signed with the new and the old secret. Change the receiver within this time.</p>
  </FormDialog>
);

const DeleteDialog = ({ of, onClose }: { of: ReceiverView; onClose: () => void }) => (
  <FormDialog
    title="Delete the receiver"
    action="Delete"
    danger
    onClose={onClose}
    run={async () => {
      await api.send("DELETE", receiverPath(of.webhook_id));
      say("The receiver is deleted.");
      go(["webhooks"], { tenant: chosenTenant.value });
    }}
  >
    <p>
      <strong>
        <Text of={of.url} most={200} />
      </strong>{" "}
      gets no further webhook, and tries that wait are given up. This cannot be undone; to stop it for a while, disable
      it.
    </p>
  </FormDialog>
);
