import { useSignal } from "@preact/signals";
import type { KeyInfo } from "../../../src/api/acts/views.ts";
import { count } from "../format.ts";
import { FormDialog } from "../parts/dialog.tsx";
import { ChoiceField, TextField } from "../parts/field.tsx";
import { newSecret } from "../parts/new-secret.tsx";
import { ListPage, usePaged } from "../parts/paged.tsx";
import type { Column } from "../parts/table.tsx";
import { Id, now, Text, Time } from "../parts/text.tsx";
import { api, identity, tenant } from "../session.ts";
import { useShown } from "../signals.ts";

/** The API keys of a tenant. */
export function KeysPage() {
  const keys = usePaged<KeyInfo>("/keys", "keys");
  const { value: shown, show, close } = useShown<"create" | KeyInfo>(keys.reload);
  return (
    <ListPage
      title={`Keys of ${tenant.value}`}
      actions={
        <button type="button" class="primary" onClick={() => show("create")}>
          Create a key …
        </button>
      }
      of={keys}
      nothing={<NoKey />}
      state={
        keys.rows.length === 0
          ? undefined
          : `${count(keys.rows.filter((key) => stateOf(key) === "active").length)} active`
      }
      label="Keys"
      keyOf={({ key_id }) => key_id}
      columns={[
        ...columns,
        {
          name: "",
          cell: (key) =>
            stateOf(key) === "active" && (
              <button type="button" class="quiet" aria-label={`Revoke ${key.key_id}`} onClick={() => show(key)}>
                Revoke …
              </button>
            ),
        },
      ]}
      dialogs={
        <>
          {shown === "create" && <CreateDialog onClose={close} />}
          {typeof shown === "object" && <RevokeDialog of={shown} onClose={close} />}
        </>
      }
    />
  );
}

/** The words for no stored key. The caller's own may be of the server's settings, or a token, and is not denied. */
const NoKey = () => (
  <>
    No key of {tenant.value} is stored.
    {identity.value?.tenant_id === tenant.value && (
      <>
        {" "}
        You are signed in as <Text of={identity.value.principal} most={64} />, by a key of the server's settings or a
        token: neither is in this list.
      </>
    )}
  </>
);

function stateOf({ revoked_at, expires_at }: KeyInfo): string {
  if (revoked_at !== null) return "revoked";
  return expires_at !== null && Date.parse(expires_at) <= now.value ? "expired" : "active";
}

const columns: readonly Column<KeyInfo>[] = [
  {
    name: "Key id",
    cell: ({ key_id }) => (
      <>
        <Id of={key_id} />
        {identity.value?.principal === key_id && <span class="tag"> you use it</span>}
      </>
    ),
  },
  { name: "Role", cell: ({ role, inputs }) => (inputs ? `${role}, inputs` : role) },
  { name: "State", cell: stateOf },
  { name: "Label", cell: ({ label }) => label !== null && <Text of={label} most={100} /> },
  { name: "Created", cell: ({ created_at }) => <Time at={created_at} /> },
  { name: "Last used", cell: ({ last_used_at }) => <Time at={last_used_at} /> },
  { name: "Expires", cell: ({ expires_at }) => <Time at={expires_at} /> },
];

function CreateDialog({ onClose }: { onClose: () => void }) {
  const role = useSignal("submitter");
  const inputs = useSignal(false);
  const label = useSignal("");
  const expires = useSignal("");
  const create = async () => {
    const body = {
      role: role.value,
      ...(role.value === "viewer" && inputs.value && { inputs: true }),
      ...(label.value !== "" && { label: label.value }),
      ...(expires.value !== "" && { expires_at: new Date(expires.value).toISOString() }),
    };
    const { key: secret } = await api.send<{ key: string }>("POST", "/keys", body);
    newSecret.value = { title: "The new key", note: "Only its hash is stored.", secret };
  };
  return (
    <FormDialog title={`Create a key of ${tenant.value}`} action="Create" run={create} onClose={onClose}>
      <ChoiceField
        label="Role"
        value={role}
        options={[
          ["submitter", "submitter: submits tasks, and sees its own"],
          ["viewer", "viewer: reads all tasks of the tenant, changes nothing"],
          ["operator", "operator: all tasks of the tenant"],
          ["admin", "admin: all tenants, queues, keys"],
        ]}
      />
      {role.value === "viewer" && (
        <label class="check">
          <input
            type="checkbox"
            checked={inputs.value}
            onChange={({ currentTarget }) => {
              inputs.value = currentTarget.checked;
            }}
          />
          Reads inputs and logs, too
        </label>
      )}
      <TextField label="Label" value={label} placeholder="where it is used" />
      <TextField label="Expires (empty: never)" value={expires} type="datetime-local" />
    </FormDialog>
  );
}

const RevokeDialog = ({ of, onClose }: { of: KeyInfo; onClose: () => void }) => (
  <FormDialog
    title={`Revoke the key ${of.key_id}`}
    action="Revoke"
    danger
    run={() => api.send("DELETE", `/keys/${encodeURIComponent(of.key_id)}`)}
    onClose={onClose}
  >
    <p>
      The API refuses the key within 60 seconds. This cannot be undone.{" "}
      {of.last_used_at === null ? "It has never been used." : "It was last used "}
      {of.last_used_at !== null && <Time at={of.last_used_at} />}
    </p>
  </FormDialog>
);
