import type { MessageAttributes } from "./queue-rows.ts";

/** SQS's limit for the messages of one request together: 1 MiB. */
const largestBatchBytes = 1_048_576;

/** A message of a request, as far as its limits concern it. */
export interface SentMessage {
  MessageBody?: string;
  MessageAttributes?: MessageAttributes;
}

type Attribute = MessageAttributes[string];

/** The reason for which SQS refuses a message, with its error code. */
export interface Fault {
  code: "InvalidMessageContents" | "InvalidParameterValue";
  message: string;
}

/** Any character that SQS refuses. The others are those of XML 1.0. */
const refusedCharacter = /[^\t\n\r\x20-\ud7ff\ue000-\ufffd\u{10000}-\u{10ffff}]/u;
const allowedCharacters = "#x9 | #xA | #xD | #x20 to #xD7FF | #xE000 to #xFFFD | #x10000 to #x10FFFF";

const attributeName = /^[A-Za-z0-9_.-]+$/;
const decimal = /^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i;

/**
 * Checks what the library does not check: characters, bytes, and values of attributes.
 * @param maxBytes The queue's `MaximumMessageSize`.
 */
export function faultOf(message: SentMessage, maxBytes: number): Fault | undefined {
  const refused = refusedCharacter.exec(message.MessageBody ?? "")?.[0];
  if (refused !== undefined) {
    const hex = refused.codePointAt(0)?.toString(16).toUpperCase();
    const reason = `Invalid binary character '#x${hex}' was found in the message body`;
    return {
      code: "InvalidMessageContents",
      message: `${reason}, the set of allowed characters is ${allowedCharacters}.`,
    };
  }
  const reason = attributesFault(message) ?? (bytesOf(message) > maxBytes ? tooLong(maxBytes) : undefined);
  return reason === undefined ? undefined : { code: "InvalidParameterValue", message: reason };
}

const tooLong = (maxBytes: number): string =>
  `One or more parameters are invalid. Reason: Message must be shorter than ${maxBytes} bytes.`;

function attributesFault({ MessageAttributes = {} }: SentMessage): string | undefined {
  for (const [name, attribute] of Object.entries(MessageAttributes)) {
    const fault = attributeFault(name, attribute);
    if (fault !== undefined) return `Message (user) attribute '${name}' is invalid. Reason: ${fault}.`;
  }
  return undefined;
}

function attributeFault(name: string, { DataType, StringValue, BinaryValue }: Attribute): string | undefined {
  if (!attributeName.test(name))
    return "A name can only include alphanumeric characters, hyphens, underscores and dots";
  if (refusedCharacter.test(DataType + (StringValue ?? ""))) return `The allowed characters are ${allowedCharacters}`;
  const [type] = DataType.split(".");
  if (type === "Binary")
    return BinaryValue === undefined ? "The type Binary must use the field BinaryValue" : undefined;
  if (StringValue === undefined) return `The type ${type} must use the field StringValue`;
  return type === "Number" && !decimal.test(StringValue) ? "The value is not a number" : undefined;
}

/** The size of a message: its body, and the names, types and values of its attributes. */
function bytesOf({ MessageBody = "", MessageAttributes = {} }: SentMessage): number {
  let bytes = Buffer.byteLength(MessageBody);
  for (const [name, { DataType, StringValue = "", BinaryValue = "" }] of Object.entries(MessageAttributes)) {
    bytes += Buffer.byteLength(name + DataType + StringValue) + Buffer.byteLength(BinaryValue, "base64");
  }
  return bytes;
}

/** The reason for which SQS refuses a batch as a whole. The library would count characters instead of bytes. */
export function batchFault(messages: readonly SentMessage[]): string | undefined {
  const bytes = messages.reduce((sum, message) => sum + bytesOf(message), 0);
  if (bytes <= largestBatchBytes) return undefined;
  return `Batch requests cannot be longer than ${largestBatchBytes} bytes. You have sent ${bytes} bytes.`;
}
