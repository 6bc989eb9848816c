/** Webhook that a task's submitter asked for. */
export interface Callback {
  /** 1 to 2,048 characters: `https`, or an address that the deployment allows. */
  url: string;
  /** True: the webhook contains the result if it is JSON of at most 64 KiB. Default: it does not. */
  include_result?: boolean | undefined;
}
