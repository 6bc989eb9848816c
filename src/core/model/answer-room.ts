/** Maximum bytes of the items in one answer: Lambda refuses an answer of more than 6 MB. */
const mostBytes = 5_000_000;

/** The room in one answer for the items of a list. */
export class AnswerRoom {
  #bytes = 0;

  /** Takes an item into the answer if it fits. The first item always fits, as a list must not stop at it. */
  takes(item: unknown): boolean {
    // Lambda's answer is JSON that contains the body as a text, so the body's quotes and backslashes are escaped once
    // more.
    const bytes = Buffer.byteLength(JSON.stringify(JSON.stringify(item)));
    if (this.#bytes > 0 && this.#bytes + bytes > mostBytes) return false;
    this.#bytes += bytes;
    return true;
  }
}
