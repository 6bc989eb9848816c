const form = document.querySelector("form");
const status = document.querySelector("[role=status]");

/** The server's answer in one sentence for the user. */
async function answerOf(path, credentials) {
  const headers = { "content-type": "application/json" };
  const response = await fetch(path, { method: "POST", headers, body: JSON.stringify(credentials) });
  const { error, email, lastLogin } = await response.json();
  if (!response.ok) return `Sorry, ${error}.`;
  if (path === "/signup") return `Welcome, ${email}. A mail is on its way. Now sign in.`;
  return `Signed in as ${email}. ${lastLogin ? `Your last sign-in was at ${lastLogin}.` : "This is your first sign-in."}`;
}

form.addEventListener("submit", async (event) => {
  event.preventDefault();
  status.textContent = "One moment ...";
  const credentials = Object.fromEntries(new FormData(form));
  status.textContent = await answerOf(event.submitter.value, credentials).catch(
    () => "Sorry, the server does not answer.",
  );
});
