import type { Readable, Writable } from 'node:stream'
import { styleText } from 'node:util'
import { isCancel, SelectPrompt, wrapTextWithPrefix } from '@clack/core'
import * as clack from '@clack/prompts'
import { type Cancelled, type Choice, cancelled } from '../forms/prompter.ts'

export interface SelectStreams {
  input: Readable
  output: Writable
  /** Why keys are ignored, shown instead of the key hints; undefined when they are active. */
  hint?: () => string | undefined
}

const maxItems = 12
/** Asks for one of several choices on a terminal, with the arrow keys, or at once with the key shown after a choice. */
export async function clackSelect<T extends string>(
  streams: SelectStreams,
  { message, options, initial }: { message: string; options: Choice<T>[]; initial?: T },
  isWithdrawn: () => boolean = () => false,
): Promise<T | Cancelled> {
  const keys = options.some(({ key }) => key !== undefined)
    ? [`${styleText('dim', 'Key in [ ]:')} choose`]
    : []
  let isInterrupted = false
  /** How a cancelled question is shown, when nothing was chosen. */
  const cancelledText = (): string =>
    !isInterrupted && options.some(({ value }) => value === 'later') ? 'left for later' : 'cancelled'
  const prompt = new SelectPrompt<Choice<T>>({
    ...streams,
    options,
    ...(initial !== undefined && { initialValue: initial }),
    render() {
      const bar = `${clack.symbolBar(this.state)}  `
      const messageLines = wrapTextWithPrefix(streams.output, message, bar, `${clack.symbol(this.state)}  `)
      const head = `${styleText('gray', clack.S_BAR)}\n${messageLines}\n`
      const chosen = this.options[this.cursor]
      // A withdrawn question was not decided, so no choice stays on the screen.
      if (this.state === 'cancel' && isWithdrawn()) return head.trimEnd()
      if (this.state === 'submit' || this.state === 'cancel') {
        const prefix = `${styleText('gray', clack.S_BAR)}  `
        const line = styled(this.state === 'submit' ? (chosen?.label ?? '') : cancelledText(), ['dim'])
        const optionLines = wrapTextWithPrefix(streams.output, line, prefix)
        return this.state === 'submit'
          ? head + optionLines
          : `${head}${optionLines}\n${styleText('gray', clack.S_BAR)}`
      }
      const margin = `${styleText('cyan', clack.S_BAR)}  `
      const hint = streams.hint?.()
      const footer = clack.formatInstructionFooter(
        streams.output,
        hint === undefined ? [...clack.SELECT_INSTRUCTIONS, ...keys] : [styleText('yellow', hint)],
        true,
      )
      const lines = clack.limitOptions({
        output: streams.output,
        cursor: this.cursor,
        options: this.options,
        maxItems: maxItems,
        columnPadding: 3,
        rowPadding: head.split('\n').length + footer.length + 1,
        style: (option, isActive) => optionLine(option, isActive, hint === undefined),
      })
      return `${head}${margin}${lines.join(`\n${margin}`)}\n${footer.join('\n')}\n`
    },
  })
  // Text that arrives at once was pasted, or typed before the question appeared, so its letters are no answer.
  let isText = false
  const noteTextInput = (chunk: Buffer | string): void => {
    const text = chunk.toString()
    isText = text.length > 1 && !text.startsWith('\u001b')
  }
  streams.input.prependListener('data', noteTextInput)
  prompt.on('key', (typed, { ctrl, meta, name }) => {
    isInterrupted = ctrl === true && name === 'c'
    if (typed === undefined || ctrl === true || meta === true || isText) return
    const at = options.findIndex(({ key }) => key === typed)
    const option = options[at]
    if (option === undefined) return
    prompt.cursor = at
    prompt.value = option.value
    prompt.state = 'submit'
  })
  const answer = await prompt.prompt().finally(() => streams.input.off('data', noteTextInput))
  if (isCancel(answer)) return cancelled
  return options.find(({ value }) => value === answer)?.value ?? cancelled
}

/** A choice with its key, if keys are active. */
function optionLine({ label, hint, key }: Choice<string>, isActive: boolean, keysCount: boolean): string {
  const end = key === undefined || !keysCount ? '' : ` [${key}]`
  if (!isActive) return `${styleText('dim', clack.S_RADIO_INACTIVE)} ${styled(label, ['dim'])}${end}`
  const more = hint === undefined ? '' : ` ${styleText('dim', `(${hint})`)}`
  return `${styleText('green', clack.S_RADIO_ACTIVE)} ${label}${end}${more}`
}

/** Each line separately, so that wrapping does not carry a style into the margin. */
function styled(text: string, style: 'dim'[]): string {
  return text
    .split('\n')
    .map((line) => styleText(style, line))
    .join('\n')
}
