import * as clack from '@clack/prompts'
import { type FormField, finishForm, makeVisible, planForm, readTyped, type Surface } from '@jackfield/host'
import type { ElicitValue } from '@jackfield/sdk'

/** Asks two kinds of questions on the terminal: approvals of calls, and the forms of servers. */
export const terminal: Surface = {
  name: 'terminal',
  show: {
    async approval({ tool, arguments: args }, signal) {
      const message = makeVisible(`Call ${tool.name} ${JSON.stringify(args)}?`)
      const isAllowed = await clack.confirm({ message, signal, initialValue: false })
      if (signal.aborted) return undefined
      return isAllowed === true ? { verdict: 'allow' } : { verdict: 'deny' }
    },
    async elicitation({ cause, params }, signal) {
      if (params.mode === 'url') return { action: 'decline' }
      const plan = planForm(params.requestedSchema, params.message)
      if ('fault' in plan) return { action: 'decline', reason: plan.fault }
      clack.log.message(makeVisible(`${cause.server} asks: ${params.message}`))
      const values: Record<string, ElicitValue> = {}
      for (const field of plan.fields) {
        const value = await askField(field, signal)
        if (signal.aborted) return undefined
        if (clack.isCancel(value)) return { action: 'cancel' }
        if (value !== undefined) values[field.key] = value
      }
      const finished = finishForm(params.requestedSchema, values)
      if ('problem' in finished) return { action: 'decline', reason: finished.problem }
      return { action: 'accept', content: finished.content }
    },
  },
}

/** Asks for one value of a form. Returns the symbol of clack if the user cancels. */
async function askField(
  field: FormField,
  signal: AbortSignal,
): Promise<ElicitValue | undefined | typeof clack.CANCEL_SYMBOL> {
  const message = makeVisible([field.label, field.description].filter(Boolean).join(': '))
  const options = (field.choices ?? []).map(({ value, label }) => ({ value, label: makeVisible(label) }))
  if (field.kind === 'boolean') return clack.confirm({ message, signal, initialValue: false })
  if (field.kind === 'choice') return clack.select({ message, signal, options })
  if (field.kind === 'choices')
    return clack.multiselect({ message, signal, options, required: field.required })
  const typed = await clack.text({
    message,
    signal,
    validate(text = '') {
      const result = readTyped(field, text)
      return 'problem' in result ? result.problem : undefined
    },
  })
  if (clack.isCancel(typed)) return typed
  const result = readTyped(field, typed)
  return 'value' in result ? result.value : undefined
}
