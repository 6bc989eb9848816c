import type { Mutation } from "./mutation.ts";

/** Each breaks a promise of unique submits. */
export const uniqueMutations: readonly Mutation[] = [
  {
    name: "unique: a task runs although another one was faster with its key",
    file: "unique/submit-unique.ts",
    find: "  if (!(await ports.uniqueKeys.take(key, holder, seen, keyPurgeAt(record.purge_at)))) {\n",
    replace:
      "  if (!(await ports.uniqueKeys.take(key, holder, seen, keyPurgeAt(record.purge_at))) && holder.task_id === task_id + key) {\n",
  },
  {
    name: "unique: the message of a holder whose submit died is not sent",
    file: "unique/unique-holder.ts",
    find: "  if (unsent === undefined) return true;\n",
    replace: "  if (unsent !== null) return true;\n",
    theme: "unique",
  },
  {
    name: "unique: each submit sends a message of its own",
    file: "unique/unique-holder.ts",
    find: "const noteSent = (ports: SubmitPorts, key: UniqueKey, holder: TaskRecord): Promise<void> =>\n  ports.uniqueKeys.sent(key, holder)",
    replace:
      "const noteSent = (ports: SubmitPorts, key: UniqueKey, holder: TaskRecord): Promise<void> =>\n  ports.uniqueKeys.sent(key, { ...holder, task_id: key.unique_key })",
  },
  {
    name: "unique: a task is withdrawn that another submit has sent",
    file: "submit/send-task.ts",
    find: "      ...(sender !== undefined && { sender: { is: sender } }),\n",
    replace: "",
    theme: "unique",
  },
  {
    name: "unique: a message is sent without a look at whether its task is withdrawn",
    file: "unique/unique-holder.ts",
    find: "    if ((await adopt(ports, holder)) === undefined) return false;\n",
    replace: "",
    theme: "unique",
  },
  {
    name: "unique: a late repeat of a replacement brings its input back",
    file: "unique/replace-input.ts",
    find: "      replaced: replaced === 0 ? { absent: true } : { is: replaced },\n",
    replace: "",
  },
  {
    name: "unique: the input of a task that has started is replaced",
    file: "unique/replace-input.ts",
    find: '      status: { is: "pending" },\n      attempts_total: { is: 0 },\n',
    replace: "",
  },
  {
    name: "unique: an input is lost when its task starts first",
    file: "unique/submit-unique.ts",
    find: '  return replacement.as === "started" ? "free" : "again";\n',
    replace: '  return replacement.as === "started" ? { record: holder, replayed: true } : "again";\n',
  },
  {
    name: "unique: an overtaken replacement counts, whoever was before it",
    file: "unique/unique-holder.ts",
    find: 'const record = await ports.records.get({ tenant_id: key.tenant_id, task_id }, "consistently");',
    replace: "const record = await ports.records.get({ tenant_id: key.tenant_id, task_id });",
    theme: "unique",
  },
  {
    name: "unique: a worker runs the input of its message",
    file: "work/run-claimed.ts",
    find: "    newest = await newestEnvelope(ports, record, envelope);\n",
    replace: "    newest = record.round < 0 ? await newestEnvelope(ports, record, envelope) : envelope;\n",
  },
  {
    name: "unique: a submit with an idempotency key does not note what it joins",
    file: "unique/submit-unique.ts",
    find: "  if (own === undefined) return true;\n",
    replace: "  if (own !== null) return true;\n",
  },
  {
    name: "unique: a submit joins a task while another one with its idempotency key makes one",
    file: "unique/submit-unique.ts",
    find: "  if (one.own === undefined) return false;\n",
    replace: "  if (one.own !== null) return false;\n",
  },
  {
    name: "idempotency: a task is made although another call joined one in another way",
    file: "unique/submit-unique.ts",
    find: " || present.replaced !== joined.replaced",
    replace: "",
  },
  {
    name: "idempotency: what was joined is answered although the key made a task",
    file: "unique/submit-unique.ts",
    find: 'if (isDone) return (await hasOwn(one)) ? "again" : { record, replayed: true };',
    replace: "if (isDone) return { record, replayed: true };",
  },
  {
    name: "idempotency: the task of another request with the key is withdrawn",
    file: "unique/submit-unique.ts",
    find: "  mustBeSame(one.call, own, own.request_hash);\n",
    replace: "",
  },
  {
    name: "unique: the key of a task that waits for its next attempt is free",
    file: "unique/unique-holder.ts",
    find: "  if (isTerminal(record.status)) return undefined;\n",
    replace: "  if (isTerminal(record.status) || record.history.length > 0) return undefined;\n",
  },
  {
    name: "unique: a burst waits for ever",
    file: "unique/replace-input.ts",
    find: "  const dueAt = Math.min(waits, Date.parse(record.created_at) + maxWaitSeconds(unique) * 1000);\n",
    replace: "  const dueAt = Math.max(waits, maxWaitSeconds(unique));\n",
  },
  {
    name: "unique: the key of a task that sleeps for long is deleted",
    file: "work/suspend.ts",
    find: "  await keepKey(ports, claimed, purgeAtOfWaiting(claimed, suspension.dueAt));\n",
    replace: "",
  },
  {
    name: "unique: the daily look sends a task that lost its key to another submit",
    file: "schedules/rescue.ts",
    find: "if (unique_key === undefined || round > 1 || attempts_total > 0) return false;",
    replace: "return false;",
    test: "test/core/schedules/rescue.test.ts",
  },
];
