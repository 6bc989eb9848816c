/** Descriptions of fields, by their names. */
export type Texts = Readonly<Record<string, string>>;

/** Fields of a submit and of a schedule's task. */
export const taskOptions: Texts = {
  type: "Name of the task type.",
  input: "Checked against the type's JSON Schema before anything is written.",
  priority: "Tier of the task. Default: the type's own.",
  max_attempts: "Maximum number of attempts in a round. Default: the type's own.",
  expires_in_seconds: "The task expires if no attempt has started within this time after it was first due.",
  retention_seconds: "Record and result are kept for this time after the task's end. Default: a week.",
  tags: "At most 10 tags, for `GET /tasks?tag.NAME=VALUE`.",
  callback: "A signed webhook is sent there at the task's end.",
  "callback.url": "An `https` URL with a public host.",
  "callback.include_result": "True: the webhook has the result if it is JSON of at most 64 KiB. Default: false.",
  result_key: "Public key as a JWK. The result is stored only encrypted to it.",
};

/** Fields of a submit. */
export const submitOptions: Texts = {
  ...taskOptions,
  unique:
    "Effect of the submit if another task of the type has the same key and has not ended. See `npx offload docs unique`.",
  "unique.key": "Names the task among those of its type that have not ended.",
  "unique.mode":
    "Effect when a task has the key. `existing`: the answer is 202 with that task. `reject`: it is 409. `replace`: that task gets the new input as long as it waits. " +
    "`debounce`: as `replace`, and the task's wait begins again. With these two modes, a submit makes a new task if the earlier one has started. " +
    "`restart`: that task is cancelled, and a new one starts when it is over; 409 if its type cannot be cancelled. " +
    "`collect`: the input is added to the list of that task, which starts after the wait of its type. Expected for a type that collects, and only there.",
  "unique.wait_seconds": "Wait after each submit. Required with `debounce`, and only allowed there.",
  "unique.max_wait_seconds":
    "Only with `debounce`: the task is due no later than this time after its first submit. Default: ten times `wait_seconds`.",
  files: "Ids of uploads, by the names of the type's files. An upload belongs to one task.",
  delay_seconds: "The task starts no earlier than after this time. Not with `run_at`.",
  run_at: "The task starts no earlier than at this time. A time in the past means now.",
};
