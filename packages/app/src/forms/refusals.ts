import type { HostAnswers } from '@jackfield/host'
import { type Cancelled, cancelled, type Prompter } from './prompter.ts'

export type Refusal = 'decline' | 'decline-why' | 'cancel'

/** The refusals, at the end of every list of choices. */
export function refusals(decline = 'Decline'): { value: Refusal; label: string; hint: string }[] {
  return [
    { value: 'decline', label: decline, hint: 'sent to the server as a refusal' },
    { value: 'decline-why', label: 'Decline, and note why…', hint: 'the note stays in your activity log' },
    { value: 'cancel', label: 'Cancel', hint: 'sent to the server as closed without a decision' },
  ]
}

/** The answer for a refusal; undefined if the user went back. */
export async function answerForRefusal(
  choice: Refusal,
  prompter: Prompter,
): Promise<HostAnswers['elicitation'] | undefined> {
  if (choice === 'decline') return { action: 'decline' }
  if (choice !== 'decline-why') return { action: 'cancel' }
  const reason = await askReason('Why? Only your activity log keeps it', prompter)
  return reason === cancelled ? undefined : { action: 'decline', ...reason }
}

/** Asks for the reason of a refusal, which may be left out. */
export async function askReason(
  message: string,
  prompter: Prompter,
): Promise<{ reason?: string } | Cancelled> {
  const reason = await prompter.text({ message, validate: () => undefined })
  if (reason === cancelled) return cancelled
  return reason.trim() === '' ? {} : { reason: reason.trim() }
}
