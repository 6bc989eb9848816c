import type { AnyRouteName } from "../../src/api/http/routes.ts";

/** Body of the example of a submit. Its type is the one that `offload init` adds to a project. */
export const submitExample = { type: "link.check", input: { url: "https://example.com" }, tags: { order: "7" } };

/** Calls in Python, of the routes that programs begin with. The page's opening makes `offload` and `url`. */
export const pythonCalls: Readonly<Partial<Record<AnyRouteName, string>>> = {
  submitTask: `body = {"type": "link.check", "input": {"url": "https://example.com"}, "tags": {"order": "7"}}
answer = offload.post(f"{url}/tasks", json=body, headers={"Idempotency-Key": "check-7"})
answer.raise_for_status()
task_id = answer.json()["task_id"]`,
  submitBatch: `orders = ["7", "8"]
tasks = [{"type": "mail.send", "input": {"order": order}, "idempotency_key": f"mail-{order}"} for order in orders]
for entry in offload.post(f"{url}/tasks/batch", json={"tasks": tasks}).json()["tasks"]:
    print(entry)  # a task, or a problem`,
  createUpload: `data = open("orders.csv", "rb").read()
body = {"content_type": "text/csv", "size_bytes": len(data), "file_name": "orders.csv"}
upload = offload.post(f"{url}/uploads", json=body).json()
requests.put(upload["url"], data=data, headers={"content-type": "text/csv", "if-none-match": "*"}).raise_for_status()
files = {"table": upload["upload_id"]}  # for a submit`,
  listTasks: `page = offload.get(f"{url}/tasks", params={"status": "failed", "tag.order": "7"}).json()
for task in page["tasks"]:
    print(task["task_id"], task["error"])`,
  readTask: `task = offload.get(f"{url}/tasks/{task_id}", params={"wait": 20}).json()  # answers at the end, or after 20 s
while task["status"] in ("scheduled", "pending", "processing"):
    task = offload.get(f"{url}/tasks/{task_id}", params={"wait": 20}).json()`,
  readResult: `answer = offload.get(f"{url}/tasks/{task_id}/result")  # follows the redirect to a large result, without the key
if answer.status_code == 409:
    raise RuntimeError(answer.json()["error"])
result = answer.content if "json" not in answer.headers["content-type"] else answer.json()`,
  cancelTask: `offload.post(f"{url}/tasks/{task_id}/cancel").raise_for_status()`,
  retryTask: `offload.post(f"{url}/tasks/{task_id}/retry").raise_for_status()`,
  createSchedule: `task = {"type": "report.daily", "input": {}, "priority": "low"}
body = {"name": "daily-report", "cron": "0 2 * * *", "timezone": "Europe/Berlin", "task": task}
offload.post(f"{url}/schedules", json=body).raise_for_status()`,
  listDeadLetters: `for letter in offload.get(f"{url}/dead-letters", params={"type": "mail.send"}).json()["dead_letters"]:
    print(letter["task_id"], letter["error"])`,
  replayDeadLetters: `body = {"filter": {"type": "mail.send", "error_kind": "unavailable"}, "dry_run": True}
print(offload.post(f"{url}/dead-letters/replay", json=body).json())`,
};

/** Calls of the typed client, by route. A route without one has none in the client. */
export const clientCalls: Readonly<Partial<Record<AnyRouteName, string>>> = {
  submitTask: `const task = await client.submit("link.check", { url: "https://example.com" }, { tags: { order: "7" } });`,
  createUpload: `const bytes = new TextEncoder().encode("hello");
const notes = await client.upload(bytes, { fileName: "a.txt", contentType: "text/plain" }); // announces and sends it`,
  listTasks: `for await (const task of client.list({ status: "failed", tags: { order: "7" } })) console.log(task.task_id);`,
  readTask: "const { status, progress } = await client.status(task);",
  listLogs: `for await (const { at, message } of operations.logs(task)) console.log(at, message); // operations is new Operations({ url, key })`,
  listAttempts: "const attempts = await client.attempts(task);",
  readResult: `const result = await client.result(task, { timeoutMs: 60_000 }); // waits for the end of the task
const { name, body } = await client.download(task); // as a stream, whatever its size`,
  cancelTask: "const { status } = await client.cancel(task);",
  runTaskNow: "await operations.runNow(task);",
  changeTaskInput: 'await operations.changeInput(task, { to: "ada@example.com" });',
  retryTask: `await client.retry(task);
await client.retry(task, { input: { to: "ada@example.com" } });`,
  changeTaskPriority: `await client.setPriority(task, "high");`,
  rescheduleTask: `await client.reschedule(task, { delaySeconds: 3_600 });`,
  extendTask: "await client.extend(task, 1_209_600);",
  acknowledgeTask: "await client.acknowledge(task);",
  listSchedules: "for await (const { name, next_run_at } of client.schedules.list()) console.log(name, next_run_at);",
  previewSchedule: `const rule = { cron: "*/15 9-17 * * MON-FRI", timezone: "Europe/Berlin" };
const times = await client.schedules.preview(rule, { count: 10 });`,
  readSchedule: "const schedule = await client.schedules.get(scheduleId);",
  listNextTimes: "const times = await client.schedules.next(scheduleId, { count: 5 });",
  createSchedule: `const schedule = await client.schedules.create({
  name: "daily-report",
  cron: "0 2 * * *",
  timezone: "Europe/Berlin",
  task: { type: "report.daily", input: {}, priority: "low" },
});`,
  putSchedule: `await client.schedules.put("daily-report", {
  cron: "0 2 * * *",
  timezone: "Europe/Berlin",
  task: { type: "report.daily", input: {}, priority: "low" },
});`,
  changeSchedule: "await client.schedules.change(scheduleId, { enabled: false });",
  deleteSchedule: "await client.schedules.delete(scheduleId);",
  pauseSchedule: "await operations.pauseSchedule(scheduleId); // operations is new Operations({ url, key })",
  resumeSchedule: "await operations.resumeSchedule(scheduleId);",
  runSchedule: "const task = await client.schedules.run(scheduleId);",
  listDeadLetters: `for await (const letter of client.deadLetters.list({ type: "mail.send" })) console.log(letter.error);`,
  groupDeadLetters:
    "for (const { count, fingerprint, error } of (await operations.deadLetterGroups()).groups) console.log(count, fingerprint, error);",
  replayDeadLetters: `const filter = { type: "mail.send", errorKind: "unavailable" } as const;
const matched = await client.deadLetters.count("replay", { filter }); // dry_run
const { operation_id } = await client.deadLetters.replay({ filter });`,
  discardDeadLetters: `await client.deadLetters.discard({ filter: { failedBefore: new Date("2027-01-01") } });`,
  listDeliveries: "const { state, deliveries } = await webhooks.tries(task); // webhooks is new Webhooks({ url, key })",
  listFailedDeliveries:
    "for await (const { task_id, last_error } of webhooks.failed()) console.log(task_id, last_error);",
  redeliverTask: "await webhooks.redeliver(task);",
  readWebhookSecret: "const { secret } = await webhooks.secret();",
  rotateWebhookSecret: "const { secret } = await webhooks.rotateSecret();",
  listReceivers: "const all = await receivers.list(); // receivers is new Receivers({ url, key })",
  createReceiver:
    'const { webhook_id, secret } = await receivers.create({ url: "https://shop.example.com/hooks", events: ["task.failed"] });',
  readReceiver: "const { health } = await receivers.get(webhookId);",
  changeReceiver: "await receivers.change(webhookId, { enabled: true });",
  deleteReceiver: "await receivers.delete(webhookId);",
  testReceiver: "await receivers.test(webhookId);",
  rotateReceiverSecret: "const { secret } = await receivers.rotateSecret(webhookId);",
  listReceiverDeliveries:
    'for await (const { event, tries } of receivers.deliveries(webhookId, { status: "failed" })) console.log(event, tries);',
  replayDeliveries: 'await receivers.replay(webhookId, { after: "2027-01-01T00:00:00Z" });',
  listTypes: "const types = await client.types();",
  pauseQueue: `await flow.pauseQueue("low"); // flow is new Flow({ url, key })`,
  resumeQueue: `await flow.resumeQueue("low");`,
  recoverLetters: `await operations.recoverDeadLetters("normal"); // operations is new Operations({ url, key })`,
  pauseType: `await flow.pauseType("mail.send");
await flow.pauseType("mail.send", { all: true }); // for all tenants`,
  resumeType: `await flow.resumeType("mail.send");`,
  closeBreaker: `await flow.closeBreaker("mail.send");`,
  changeLimits: `await flow.setLimits("mail.send", { concurrency: 5, rate: { limit: 100, perSeconds: 60 } });
await flow.setLimits("mail.send", { concurrency: null }); // as defined`,
  setKeyLimit: `await flow.setKeyLimit("crm.update", "account-7", { limit: 10, expiresInSeconds: 86_400 });`,
  clearKeyLimit: `await flow.clearKeyLimit("crm.update", "account-7");`,
  pauseTenant: `await flow.pauseTenant("acme");`,
  resumeTenant: `await flow.resumeTenant("acme");`,
  cancelTasks: `// operations is new Operations({ url, key })
const matched = await operations.count("cancel", { filter: { type: "mail.send", tags: { campaign: "spring" } } }); // dry_run
const { operation_id } = await operations.cancelTasks({ filter: { type: "mail.send", tags: { campaign: "spring" } } });`,
  runTasksNow: `const { operation_id } = await operations.runTasksNow({ filter: { type: "mail.send", retrying: true } });`,
  retryTasks: `const { operation_id } = await operations.retryTasks({ filter: { type: "mail.send" } }, { perSecond: 10 });`,
  readOperation: "const { done, matched } = await operations.get(operationId);",
  changeOperation: "await operations.changeRate(operationId, 2);",
  cancelOperation: "const { status, done } = await operations.cancel(operationId);",
  readQueues: "const { normal } = await client.queues();",
  listAudit:
    "for await (const { at, actor, action } of audit.list()) console.log(at, actor, action); // audit is new Audit({ url, key })",
  listSteps: "const steps = await operations.steps(task);",
  readInput: "const input = await operations.input(task);",
  readIdentity: "const { role } = await admin.identity(); // admin is new Admin({ url, key })",
  readMetrics: "const { series } = await admin.metrics({ hours: 6 });",
  listDeployments: "const [newest] = await admin.deployments();",
  listAlarms: "const alarms = await admin.alarms();",
  listKeys: "const keys = await admin.keys();",
  createKey: `const { key } = await admin.createKey({ role: "operator", label: "night shift" });`,
  revokeKey: "await admin.revokeKey(keyId);",
  listTenants: "for await (const { tenant_id } of admin.tenants()) console.log(tenant_id);",
  readTenantLimits: `const { in_force } = await admin.limits("acme");`,
  changeTenantLimits: `await admin.setLimits("acme", { submitsPerSecond: 20, burst: "unset" });`,
  readHealth: "const { version } = await client.health();",
};
