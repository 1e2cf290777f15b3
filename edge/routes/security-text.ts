/** `GET /.well-known/security.txt` (RFC 9116): where to report a flaw of this deployment, which only its operator knows. */
import { notFound } from "../../rules/problem.ts";
import { type EdgeContext, settingsOf } from "../context.ts";
import type { Answer } from "../platform/platform.ts";
import { problemAnswer } from "../problem-answer.ts";

/** RFC 9116, section 2.5.5, recommends less than a year. It is written anew each day, as long as the deployment runs. */
const VALID_DAYS = 90;
const DAY_MILLISECONDS = 86_400_000;

export function answerSecurityText(context: EdgeContext): Answer {
  const { securityContacts } = settingsOf(context);
  if (securityContacts.length === 0) return problemAnswer(context, notFound());
  const today = Math.floor(Date.now() / DAY_MILLISECONDS);
  const expires = new Date((today + VALID_DAYS) * DAY_MILLISECONDS).toISOString().replace(".000", "");
  const lines = [...securityContacts.map((contact) => `Contact: ${contact}`), `Expires: ${expires}`];
  return { status: 200, headers: { "Content-Type": "text/plain; charset=utf-8" }, body: `${lines.join("\n")}\n` };
}
