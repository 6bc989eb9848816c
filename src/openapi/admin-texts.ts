import type { Texts } from "./submit-texts.ts";

const keyFields: Texts = {
  key_id: "Id of the key: the principal of its requests.",
  tenant_id: "Tenant of the key.",
  role: "Role of the key.",
  inputs: "True: a viewer that may read inputs and logs.",
  label: "Text for the list. Null: none was given.",
};

const tenantLimitFields: Texts = {
  submits_per_second: "Accepted submits per second, on average.",
  burst: "Number of submits that are accepted at once after a pause.",
  tasks_in_progress: "Accepted tasks that have not ended.",
  request_bytes: "Largest request body, in bytes.",
  schedules: "Schedules, without those of the app's code. Default: 100.",
  open_upload_bytes:
    "Bytes of the announced uploads that no task has taken, each as at least 1 MiB and for at most 25 hours. Default: 107374182400 (100 GiB).",
};

/** Meanings of the fields of callers, keys, tenants and measurements, by schema. */
export const adminTexts: Readonly<Record<string, Texts>> = {
  Identity: { role: "Role of the caller.", inputs: "A viewer that may read inputs and logs. Absent for all others." },
  Key: keyFields,
  NewKey: keyFields,
  NewKeyRequest: {
    role: "Role of the key.",
    inputs: "True: the viewer may read inputs and logs. Other roles have no such permission.",
    label: "Text that the list of keys shows.",
    expires_at: "End of the key, in the future. Default: never.",
  },
  TenantList: { tenants: "The tenants of this page, in the order of their ids." },
  TenantLimits: { ...tenantLimitFields, tenant_id: "Id of the tenant." },
  TenantLimitsChange: tenantLimitFields,
  Metrics: {
    from: "Start of the first period.",
    to: "End of the last period.",
    series: "The metrics of each tier.",
  },
  AlarmList: {
    alarms: "The alarms, in the order of their names.",
  },
};
