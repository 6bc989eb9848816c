/** Sends a request to the bank, and returns its answer. */
export async function bank(request: string): Promise<string> {
  const body = `${new Date().toISOString().slice(0, 16)}  ${request}`;
  const answer = await fetch(process.env.BANK_URL ?? "", { method: "POST", body });
  return answer.text();
}
