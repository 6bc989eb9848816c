/** A receipt handle that cannot be used; `code` is SQS's error code. */
export class ReceiptError extends Error {
  readonly code: "ReceiptHandleIsInvalid" | "MessageNotInflight" | "InvalidParameterValue";

  constructor(code: ReceiptError["code"], message: string) {
    super(message);
    this.name = "ReceiptError";
    this.code = code;
  }
}

/** The contents of a receipt handle: one receive of one message. */
export interface Receipt {
  queue: string;
  messageId: string;
  /** Number of the receive in this queue, from 1. */
  receive: number;
}

export function writeReceipt({ queue, messageId, receive }: Receipt): string {
  return Buffer.from(`${queue}/${messageId}/${receive}`).toString("base64");
}

/** @throws ReceiptError when the text is not a receipt handle of this queue */
export function readReceipt(queue: string, handle: string): Receipt {
  const [name, messageId, receive] = Buffer.from(handle, "base64").toString().split("/");
  if (name !== queue || !messageId || !Number(receive)) {
    throw new ReceiptError("ReceiptHandleIsInvalid", `The input receipt handle "${handle}" is not valid.`);
  }
  return { queue, messageId, receive: Number(receive) };
}
