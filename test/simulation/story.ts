/** What happened, in numbered lines, with short names for tasks; keeps nothing unless it is asked to. */
export class Story {
  readonly lines: string[] = [];
  readonly #kept: boolean;
  readonly #names = new Map<string, string>();
  readonly #startMs: number;

  constructor(kept: boolean, startMs: number) {
    this.#kept = kept;
    this.#startMs = startMs;
  }

  /** @param text Only made when the story is kept. */
  tell(nowMs: number, actor: string, text: () => string): void {
    if (!this.#kept) return;
    this.lines.push(`${String(this.lines.length + 1).padStart(5)} ${this.#clock(nowMs)} ${actor.padEnd(12)} ${text()}`);
  }

  /** A task's short name. */
  name(taskId: string): string {
    const name = this.#names.get(taskId) ?? `T${this.#names.size + 1}`;
    this.#names.set(taskId, name);
    return name;
  }

  #clock(nowMs: number): string {
    const ms = nowMs - this.#startMs;
    const days = Math.floor(ms / 86_400_000);
    return `+${days > 0 ? `${days}d ` : ""}${new Date(ms % 86_400_000).toISOString().slice(11, 23)}`.padEnd(16);
  }
}
