/** A way to break the core on purpose: a snippet of one of its files, and what takes its place. */
export interface Mutation {
  name: string;
  file: string;
  find: string;
  replace: string;
  /** A second place in the same file. */
  also?: { find: string; replace: string };
}

/** Each breaks a promise in its own way, and the simulation must find every one. */
export const mutations: readonly Mutation[] = [
  {
    name: "submit sends before it writes the record",
    file: "submit.ts",
    find: "  if (existing === undefined) return sendFirst(",
    replace:
      "  if (existing === undefined) return { record, replayed: false };\n  if (existing === null) return sendFirst(",
    also: {
      find: "  const existing = await orUnavailable(ports.records.create",
      replace: "  await send(ports, record, envelope);\n  const existing = await orUnavailable(ports.records.create",
    },
  },
  {
    name: "a repeated submit does not send again",
    file: "submit.ts",
    find: 'if (existing.status === "pending" && existing.attempts_total === 0) {',
    replace: "if (existing.round < 1) {",
  },
  {
    name: "a submit with a key is withdrawn too",
    file: "submit.ts",
    find: "if (call.idempotencyKey === undefined) {",
    replace: "if (call.parentId === undefined) {",
  },
  {
    name: "another request is taken for a repeat",
    file: "submit.ts",
    find: "const sameRequest = existing.request_hash === fingerprint(call.body);",
    replace: "const sameRequest = existing.request_hash !== undefined;",
  },
  {
    name: "an idempotency key is not its tenant's own",
    file: "idempotency.ts",
    find: "JSON.stringify([tenantId, principal, key])",
    replace: "JSON.stringify([principal, key])",
  },
  {
    name: "the keys of a batch's entries do not depend on their places",
    file: "submit-batch.ts",
    find: ": batchEntryKey(batchKey, index)",
    replace: ": batchEntryKey(batchKey, 0)",
  },
  {
    name: "a batch's key is ignored",
    file: "submit-batch.ts",
    find: ": batchEntryKey(batchKey, index)",
    replace: ": undefined",
  },
  {
    name: "a long wait does not keep the envelope",
    file: "dispatch.ts",
    find: '  await ports.records.savePart(key, "envelope", envelope, waiting.purge_at);\n',
    replace: "",
  },
  {
    name: "every wait of a task has the same one-off",
    file: "dispatch.ts",
    find: "dueAt: number): string =>",
    replace: "dueAt: number): string => dueAt > 0 ? taskId :",
  },
  {
    name: "a claim does not ask whether the task is due",
    file: "claim.ts",
    find: "      due_at: { atMost: iso(now) },\n",
    replace: "",
  },
  {
    name: "a claim does not ask whether the task has expired",
    file: "claim.ts",
    find: "      start_by: { above: iso(now), orAbsent: true },\n",
    replace: "",
  },
  {
    name: "a message of an earlier task with the same key is worked on",
    file: "claim.ts",
    find: "      created_at: { atMost: latestCreatedAt(message.envelope) },\n",
    replace: "",
  },
  {
    name: "a handler starts although its lease has ended",
    file: "attempt.ts",
    find: "    mustHoldLease(ports, running.record);\n",
    replace: "",
  },
  {
    name: "a started task can still expire",
    file: "claim.ts",
    find: 'remove: ["start_by", "progress"],',
    replace: 'remove: ["progress"],',
  },
  {
    name: "a claim takes a task over whose lease has ended, without a word on the attempt before",
    file: "claim.ts",
    find: '    when: {\n      status: { is: "pending" },\n',
    replace:
      '    when: {\n      status: { in: ["pending", "processing"] },\n      lease_until: { atMost: iso(now), orAbsent: true },\n',
  },
  {
    name: "an attempt is acknowledged before it is settled",
    file: "work-message.ts",
    find: 'log.error("could not work on a message; it is delivered again", { error: String(error) });\n  return "again";',
    replace:
      'log.error("could not work on a message; it is delivered again", { error: String(error) });\n  return "done";',
  },
  {
    name: "a message behind a live lease is dropped",
    file: "claim.ts",
    find: 'reportDuplicate(ports, record, "put a message back: an attempt of its task still has the lease");\n    return "again";',
    replace: 'return "done";',
  },
  {
    name: "a lease counts as ended a while before its end",
    file: "claim.ts",
    find: "  if (leftMs >= 0) {",
    replace: "  if (leftMs >= 20_000) {",
  },
  {
    name: "a message that comes too early is dropped",
    file: "claim.ts",
    find: "    await dispatch(ports, record, envelope, delivery.redrives);\n",
    replace: "",
  },
  {
    name: "what follows from the end is tried once",
    file: "claim.ts",
    find: "    await followUp(ports, record, envelope);\n",
    replace: "",
  },
  {
    name: "one failing message fails its batch",
    file: "work-message.ts",
    find: '  log.error("could not work on a message; it is delivered again", { error: String(error) });\n  return "again";',
    replace: "    throw error;",
  },
  {
    name: "settling has no fence",
    file: "lease.ts",
    find: "    attempts_total: { is: record.attempts_total },\n",
    replace: "",
  },
  {
    name: "a crash is settled although the lease was renewed",
    file: "settle.ts",
    find: "const lease = record.lease_until === undefined ?",
    replace: 'const lease = record.round > 0 ? { above: "" } : record.lease_until === undefined ?',
  },
  {
    name: "a retry is not dispatched",
    file: "settle.ts",
    find: 'if (settled.as === "retried" && settled.record !== undefined) await dispatch(',
    replace: 'if (settled.as === "stale" && settled.record !== undefined) await dispatch(',
  },
  {
    name: "a wish to cancel is passed over by a result",
    file: "settle.ts",
    find: "when: { ...fence(record), ...sameRetention(record), cancel_requested_at: { absent: true } },",
    replace: "when: { ...fence(record), ...sameRetention(record) },",
  },
  {
    name: "a task that was extended meanwhile ends with its old retention",
    file: "retention.ts",
    find: "({ retention_seconds: { is: record.retention_seconds } }) as const",
    replace: "({ round: { is: record.round } }) as const",
  },
  {
    name: "a dead letter is buried before the task has failed",
    file: "bury.ts",
    find: '  await ports.records.savePart(record, "envelope", envelope, kept.purge_at);\n',
    replace:
      '  await ports.records.savePart(record, "envelope", envelope, kept.purge_at);\n  await ports.queues.bury(record.priority, deadLetterOf({ ...record, dead_letter_at: now }, envelope), record.tenant_id);\n',
  },
  {
    name: "a heartbeat does not renew the lease",
    file: "heartbeat.ts",
    find: "if (leaseUntil - ports.clock.now() < (seconds * 1000) / 3) {",
    replace: "if (leaseUntil < 0) {",
  },
  {
    name: "a heartbeat does not look for cancellations",
    file: "heartbeat.ts",
    find: "  if (current?.cancel_requested_at !== undefined) onCancelled();\n",
    replace: "  if (current === undefined) onCancelled();\n",
  },
  {
    name: "progress can go down",
    file: "progress.ts",
    find: "when: { ...fence(record), progress: { atMost: written, orAbsent: true } },",
    replace: "when: fence(record),",
  },
  {
    name: "a handler whose attempt has ended goes on submitting",
    file: "attempt.ts",
    find: "    if (!isOpen()) throw",
    replace: "    if (what === '') throw",
  },
  {
    name: "a retried handler submits its child again",
    file: "attempt.ts",
    find: "child.key ??",
    replace: "child.key ?? String(record.attempts_total) +",
  },
  {
    name: "there is one attempt too many",
    file: "retry.ts",
    find: "if (failure.attempt >= failure.maxAttempts) return",
    replace: "if (failure.attempt > failure.maxAttempts) return",
  },
  {
    name: "a side effect is repeated by another attempt at once",
    file: "once.ts",
    find: 'if (begun.state === "busy")',
    replace: 'if (begun.state === ("never" as string))',
  },
  {
    name: "a side effect's outcome is not stored",
    file: "once.ts",
    find: "const stored = await ports.once.finish({ tenantId, key, owner, value, purgeAt });",
    replace: "const stored = purgeAt > 0;",
  },
  {
    name: "once-only keys are common to all tenants",
    file: "once.ts",
    find: "const { tenantId, owner } = caller;",
    replace: 'const { owner } = caller;\n  const tenantId = "acme";',
  },
  {
    name: "a retry sends nothing ahead of its change",
    file: "control.ts",
    find: "  await send(now + safetyDelaySeconds * 1000);\n",
    replace: "",
  },
  {
    name: "a retry forgets the earlier round",
    file: "control.ts",
    find: "record.history, purgeAt);",
    replace: "[], purgeAt);",
  },
  {
    name: "of two who extend a task the later one wins",
    file: "control.ts",
    find: "      retention_seconds: { atMost: set.retention_seconds },\n      purge_at: { atMost: set.purge_at },\n",
    replace: "",
  },
  {
    name: "cancelling does not look at the attempt",
    file: "control.ts",
    find: 'when: { status: { is: "pending" }, attempts_total: { is: record.attempts_total }, ...sameRetention(record) },',
    replace: 'when: { status: { in: ["pending", "processing"] }, ...sameRetention(record) },',
  },
  {
    name: "redrive drops what it finds waiting",
    file: "redrive.ts",
    find: "  await dispatch(ports, record, envelope, delivery.redrives +",
    replace: "  if (delivery.redrives < 0) await dispatch(ports, record, envelope, delivery.redrives +",
  },
  {
    name: "redrive makes a dead letter of an expired task",
    file: "redrive.ts",
    find: "  if (record.start_by !== undefined && record.start_by <= nowIso) return expire(ports, record);\n",
    replace: "",
    also: { find: "      start_by: { above: iso(ports.clock.now()), orAbsent: true },\n", replace: "" },
  },
  {
    name: "an outage that lasts for hours uses up a message's receives",
    file: "redrive.ts",
    find: 'return outage ? sitOut(ports, delivery) : "again";',
    replace: 'return "again";',
  },
  {
    name: "redrive drops messages of running tasks",
    file: "redrive.ts",
    find: '  if ((record.lease_until ?? "") > iso(ports.clock.now())) return "again";',
    replace: '  if ((record.lease_until ?? "") > iso(ports.clock.now())) return "done";',
  },
  {
    name: "redrive does not follow up on failed tasks",
    file: "redrive.ts",
    find: "    await followUp(ports, record, envelope);\n    return",
    replace: "    return",
  },
  {
    name: "fire leaves retries alone",
    file: "fire.ts",
    find: 'if (record.status !== "pending") return "skipped";',
    replace: 'if (record.status !== "pending" || record.attempts > 0) return "skipped";',
  },
  {
    name: "a finished message becomes visible beside a slow one",
    file: "batch-visibility.ts",
    find: "    this.#finished.add(delivery);\n",
    replace: "",
  },
  {
    name: "each early message is dispatched again",
    file: "claim.ts",
    find: "  if (seconds > longestDelaySeconds) {",
    replace: "  if (seconds > 0) {",
  },
  {
    name: "a task that crashed runs beside others when its message does not say so",
    file: "claim.ts",
    find: '      ...(alone ? {} : { error_kind: { not: "crashed" } }),\n',
    replace: "",
  },
  {
    name: "a message that did not fit in its batch counts as a failed delivery",
    file: "work.ts",
    find: "  const { tier, redrives } = delivery;\n",
    replace: '  const { tier, redrives } = delivery;\n  if (redrives >= 0) return decide(batch, delivery, "again");\n',
  },
  {
    name: "a task that must run alone waits for the rest, whatever its time-out",
    file: "batch-plan.ts",
    find: "  if (alone.length === 0 || nowMs + wholeMs <= deadlineMs) return",
    replace: "  if (wholeMs >= 0) return",
  },
  {
    name: "a claim that was repeated does not know its own lease",
    file: "work-message.ts",
    find: "claimed.done || claimed.record?.lease_token === token",
    replace: "claimed.done",
  },
  {
    name: "a claim takes any lease for its own",
    file: "work-message.ts",
    find: "claimed.done || claimed.record?.lease_token === token",
    replace: "claimed.done || claimed.record?.lease_token !== undefined",
  },
  {
    name: "the ends of children are not counted",
    file: "follow-up.ts",
    find: "ended = await countEnd(ports, ended)",
    replace: "ended = undefined",
  },
  {
    name: "a leaf whose children ended before it was sealed is not passed up",
    file: "spawn/spawner.ts",
    find: "        await passUp(this.#ports, this.#parent, name, node);\n",
    replace: "",
  },
  {
    name: "a parent that begins to wait does not look whether its children have ended",
    file: "settle.ts",
    find: 'settled.as === "waiting" ? await closeIfFull(ports, settled.record) : settled.record',
    replace: 'settled.as === "waiting" ? undefined : settled.record',
  },
  {
    name: "the nodes above are sealed after the leaves",
    file: "spawn/spawner.ts",
    find: "    for (const [name, sealing] of above) await this.#seal(name, sealing, purgeAt);\n",
    replace: "",
    also: {
      find: "    const total = leaves.reduce(",
      replace:
        "    for (const [name, sealing] of above) await this.#seal(name, sealing, purgeAt);\n    const total = leaves.reduce(",
    },
  },
  {
    name: "a family does not count the children that an earlier attempt created",
    file: "spawn/spawner.ts",
    find: '    members[place] = "1";\n',
    replace: '    if (isLeafOf(leaf, this.#parent)) members[place] = "1";\n',
  },
  {
    name: "a later task under the same idempotency key finds the ends of the earlier one's children",
    file: "family/results.ts",
    find: "Date.parse(created_at).toString(36)",
    replace: "created_at.slice(0, 1)",
  },
  {
    name: "a child that failed is not started again in its parent's new round",
    file: "spawn/spawn-child.ts",
    find: "(child.family_round ?? family.round) < family.round",
    replace: "(child.family_round ?? family.round) > family.round",
  },
  {
    name: "a late call of an attempt changes a parent that waits",
    file: "lease.ts",
    find: '    family_state: { not: "waiting" },\n',
    replace: "",
  },
  {
    name: "the attempt that aggregates gets no message",
    file: "close-family.ts",
    find: "  if (isClosing(parent)) await dispatch(",
    replace: "  if (parent === undefined) await dispatch(",
  },
  {
    name: "the threshold compares the ended children",
    file: "close-family.ts",
    find: "if (counts.completed < neededOf(parent, total))",
    replace: "if (total < neededOf(parent, total))",
  },
  {
    name: "a node passes only its completed children up",
    file: "family/node.ts",
    find: "[completed, failed, cancelled, expired].join()",
    replace: "[completed, 0, cancelled - cancelled, expired - expired, failed].join()",
  },
  {
    name: "the end of an expired child is not counted",
    file: "claim.ts",
    find: "  if (changed.record !== undefined && isTerminal(changed.record.status)) await followUp(ports, changed.record);\n",
    replace: "",
  },
  {
    name: "the attempts of a child that starts again are forgotten",
    file: "spawn/spawn-child.ts",
    // biome-ignore lint/suspicious/noTemplateCurlyInString: it is source text
    find: "  await ports.records.savePart(child, `round#${child.round}`, child.history, purgeAt);\n",
    replace: "",
  },
  {
    name: "a full node is passed up before all its places have ended",
    file: "family/node.ts",
    find: "placesOf(node).every((place)",
    replace: "placesOf(node).some((place)",
  },
  {
    name: "an object is stored before it is listed",
    file: "blob/put-listed.ts",
    find: "  await blobList.add(dayOf(clock.now() + dayMs), { key, tenant_id, task_id });\n  return blobs.put(key, body, options);",
    replace:
      "  const put = await blobs.put(key, body, options);\n  await blobList.add(dayOf(clock.now() + dayMs), { key, tenant_id, task_id });\n  return put;",
  },
  {
    name: "an input that does not fit is left out of the message",
    file: "large-input.ts",
    find: "  return { ...frame, input_ref: { key, bytes: body.byteLength, sha256 } };",
    replace: "  return { ...frame };",
  },
  {
    name: "nobody is told of an end",
    file: "follow-up.ts",
    find: "    await tellEnd(ports, ended);\n",
    replace: "",
  },
  {
    name: "nobody is told of a cancelled task",
    file: "tell.ts",
    find: "if (!isTerminal(record.status) || isInternal(record)) return;",
    replace: 'if (!isTerminal(record.status) || record.status === "cancelled" || isInternal(record)) return;',
  },
  {
    name: "a retry forgets to tell of the round before",
    file: "control.ts",
    find: "  await tellBeforeNextRound(ports, record);\n",
    replace: "",
  },
  {
    name: "an expiry whose answer was lost is not followed up",
    file: "claim.ts",
    find: "if (changed.record !== undefined && isTerminal(changed.record.status)) await followUp(ports, changed.record);",
    replace: "if (changed.done) await followUp(ports, changed.record);",
  },
  {
    name: "a crash that was settled at a lost try is not followed up",
    file: "claim.ts",
    find: '  await followUp(ports, settled.record, envelope);\n  return "done";\n}\n\n/** A parent',
    replace: '  return "done";\n}\n\n/** A parent',
  },
  {
    name: "a cancel whose answer was lost is not followed up",
    file: "control.ts",
    find: "      await followUp(ports, current);\n      return current;\n",
    replace: "      return current;\n",
  },
  {
    name: "each round's end has the same id",
    file: "tell.ts",
    find: "[tenant_id, task_id, created_at, round]",
    replace: "[tenant_id, task_id, created_at]",
  },
  {
    name: "a later task under the same key has the ends of the earlier one",
    file: "tell.ts",
    find: "[tenant_id, task_id, created_at, round]",
    replace: "[tenant_id, task_id, round]",
  },
  {
    name: "a task without a subscriber is told of",
    file: "tell.ts",
    find: "  if (isHeard) await notices.send(",
    replace: "  if (isHeard || record.round > 0) await notices.send(",
  },
  {
    name: "a notice that failed is deleted",
    file: "notify.ts",
    find: "  if (failed !== undefined) throw failed.reason;\n",
    replace: "",
  },
  {
    name: "a notice that comes again does not go on with its webhook",
    file: "webhooks/deliver.ts",
    find: "  if (stored !== undefined) return watch(ports, stored, stored.tries.length);\n",
    replace: "  if (stored !== undefined) return;\n",
  },
  {
    name: "a try that comes again does not go on with its webhook",
    file: "webhooks/deliver.ts",
    find: "  if (stored.tries.length >= notice.number) return watch(ports, stored, notice.number);\n",
    replace: "  if (stored.tries.length >= notice.number) return;\n",
  },
  {
    name: "a webhook has one try too many",
    file: "webhooks/tries.ts",
    find: "waitsSeconds[tries.length - series_from]",
    replace: "waitsSeconds[Math.max(0, tries.length - series_from - 1)]",
  },
  {
    name: "a long wait of a webhook has no one-off",
    file: "webhooks/deliver.ts",
    find: '  await ports.oneOffs.create({ name, at: iso(atMs), payload: { kind: "webhook", notice } });\n',
    replace: "",
  },
  {
    name: "a webhook has the time of its try",
    file: "webhooks/deliver.ts",
    find: "  const timestamp = task.finished_at ?? nowIso;\n",
    replace: "  const timestamp = nowIso;\n",
  },
];
