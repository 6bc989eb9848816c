interface Running<Answer> {
  answer: Promise<Answer>;
  /** The read that begins after it. Absent: nobody has asked since it began. */
  next?: Promise<Answer>;
}

/**
 * Joins the reads of one thing that a process asks for at the same time. A read that is asked for while another runs
 * begins after it, once for all who ask: each has an answer that is not older than its question.
 */
export class JoinedReads<Answer> {
  readonly #running = new Map<string, Running<Answer>>();

  read(key: string, begin: () => Promise<Answer>): Promise<Answer> {
    const running = this.#running.get(key);
    if (running === undefined) return this.#begin(key, begin);
    running.next ??= running.answer.then(
      () => this.#begin(key, begin),
      () => this.#begin(key, begin),
    );
    return running.next;
  }

  #begin(key: string, begin: () => Promise<Answer>): Promise<Answer> {
    const running: Running<Answer> = { answer: begin() };
    this.#running.set(key, running);
    const end = () => {
      if (running.next === undefined) this.#running.delete(key);
    };
    running.answer.then(end, end);
    return running.answer;
  }
}
