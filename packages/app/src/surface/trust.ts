import { type HostAnswers, type HostQuestion, makeVisible } from '@jackfield/host'
import { laterChoice } from '../forms/later-choice.ts'
import type { Prompter } from '../forms/prompter.ts'
import { changeLines, findingLines } from '../output/definitions.ts'
import type { Palette } from '../output/palette.ts'
import { showText } from './long-text.ts'

type Of<K extends HostQuestion['kind']> = Extract<HostQuestion, { kind: K }>

/** Shows changed definitions of a server. Esc defers the question: they stay disabled. */
export async function askDefinitionChanges(
  { id, cause, changes, findings }: Of<'drift'>,
  prompter: Prompter,
  palette: Palette,
): Promise<HostAnswers['drift'] | undefined> {
  const server = palette.bold(makeVisible(cause.server))
  const isChange = changes.some(({ kind }) => kind !== 'added')
  prompter.say([
    isChange
      ? `${server} now has other definitions than you accepted.`
      : `${server} has definitions that you should review before a model sees them.`,
    ...findingLines(findings, palette),
  ])
  const whole = changeLines(changes, palette).join('\n')
  let { all: isFullyShown } = showText(whole, prompter)
  for (;;) {
    const choice = await prompter.select({
      message: 'The definitions shown here are disabled. Accept them?',
      options: [
        {
          ...laterChoice(id, prompter),
          label: 'Decide later',
          hint: 'it stays disabled, and the question in the inbox',
        },
        { value: 'accept', label: 'Accept it as it is now' },
        { value: 'block', label: 'Block it', hint: 'until it changes again' },
        ...(isFullyShown ? [] : [{ value: 'show', label: 'Show all of it' }]),
      ],
      initial: 'later',
    })
    if (choice === 'accept' || choice === 'block') return { verdict: choice }
    if (choice !== 'show') return undefined
    prompter.say(whole.split('\n'))
    isFullyShown = true
  }
}

/** Asks whether a server may be started or a URL contacted. Undefined, as for Esc, defers the question. */
export async function askStart(
  { id, cause, config, file, command, program, given, findings, before }: Of<'start'>,
  prompter: Prompter,
  palette: Palette,
): Promise<HostAnswers['start'] | undefined> {
  const server = palette.bold(makeVisible(cause.server))
  const isAddress = 'url' in config
  const names = Object.keys((isAddress ? config.headers : config.env) ?? {})
  const values = given?.map(({ name, value }) => `${name}=${value}`) ?? names
  const where = file === undefined ? '' : `, configured in ${makeVisible(file)},`
  const effect = isAddress ? 'would be contacted at' : 'would run on this machine, as you:'
  const reason = before === undefined ? 'for the first time' : 'for the first time since it changed'
  prompter.say([
    `${server}${where} ${effect}`,
    ...indented(command),
    ...(before === undefined ? [] : [palette.dim('Before, it was'), ...indented(before)]),
    ...(program === undefined ? [] : [`${palette.dim('the program is')} ${makeVisible(program)}`]),
    ...(values.length === 0 ? [] : [palette.dim(isAddress ? 'with the headers' : 'with the variables')]),
    ...values.flatMap(indented),
    ...('cwd' in config && config.cwd !== undefined
      ? [`${palette.dim('in')} ${makeVisible(config.cwd)}`]
      : []),
    ...findingLines(findings, palette),
  ])
  const choice = await prompter.select({
    message: isAddress ? `Connect to it ${reason}?` : `Start it ${reason}?`,
    options: [
      { value: 'deny', label: 'No', key: 'n' },
      { value: 'allow', label: 'Yes', hint: 'asked again when it changes', key: 'y' },
      laterChoice(id, prompter),
    ],
    initial: 'deny',
  })
  return choice === 'allow' || choice === 'deny' ? { verdict: choice } : undefined
}

function indented(text: string): string[] {
  return makeVisible(text)
    .split('\n')
    .map((line) => `  ${line}`)
}
