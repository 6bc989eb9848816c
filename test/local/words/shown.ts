interface Message {
  type: string;
  progress_data?: { at: number; words: string };
  result?: { text: string };
}

/** The answer as the page shows it after a message about its task. */
export function shownAfter(shown: string, { type, progress_data: end, result }: Message): string {
  if (type === "task.completed") return result?.text ?? shown;
  // Where a message is missing, a space stands for its words until the whole answer is there.
  return end === undefined ? shown : shown.slice(0, end.at).padEnd(end.at) + end.words;
}
