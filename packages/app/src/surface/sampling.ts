import type { HostAnswers, HostQuestion } from '@jackfield/host'
import { laterChoice } from '../forms/later-choice.ts'
import { cancelled, type Prompter } from '../forms/prompter.ts'
import type { Palette } from '../output/palette.ts'
import { oneLine } from '../output/sanitize.ts'
import { showText } from './long-text.ts'
import { requestHeading, requestText, resultHeading, resultText } from './sampling-card.ts'
import { editRequest, editResult } from './sampling-edit.ts'

type Of<K extends HostQuestion['kind']> = Extract<HostQuestion, { kind: K }>
type Remembering = 'allow-conversation' | 'allow-always'
type RequestChoice = 'later' | 'deny' | 'allow' | 'edit' | 'model' | 'context' | 'show' | Remembering
type ResultChoice = 'later' | 'deny' | 'allow' | 'edit' | 'again' | 'model' | 'earlier' | 'show' | Remembering

/** Shows a sampling request in full before it is sent to the model. Undefined, as for Esc, defers it. */
export async function reviewRequest(
  question: Of<'sampling-request'>,
  prompter: Prompter,
  palette: Palette,
  env: NodeJS.ProcessEnv,
): Promise<HostAnswers['sampling-request'] | undefined> {
  const server = oneLine(question.cause.server, 40)
  const texts = question.context?.texts ?? []
  let { params } = question
  let { model } = question.choice
  let context = false
  prompter.say(requestHeading(question, model, palette))
  let { all: isFullyShown } = showText(requestText(params, palette), prompter)
  for (;;) {
    const choice = await prompter.select<RequestChoice>({
      message: 'Send this to the model?',
      options: [
        { value: 'deny', label: 'Deny', key: 'n' },
        {
          value: 'allow',
          label: context ? `Send, with the ${texts.length} texts of the conversation` : 'Send',
          key: 'y',
        },
        ...(isFullyShown ? [] : [{ value: 'show' as const, label: 'Show all of it', key: 's' }]),
        { value: 'edit', label: 'Edit', key: 'e' },
        ...(question.choice.ranking.length > 1
          ? [{ value: 'model' as const, label: 'Another model', key: 'm' }]
          : []),
        ...(texts.length === 0
          ? []
          : [
              {
                value: 'context' as const,
                key: 'c',
                label: context
                  ? 'Leave the texts of the conversation out'
                  : `Review the ${texts.length} texts of the conversation and add them`,
              },
            ]),
        ...rememberOptions(`Send, and skip review of requests of ${server}`),
        laterChoice(question.id, prompter),
      ],
      initial: 'deny',
    })
    switch (choice) {
      case 'allow':
      case 'allow-conversation':
      case 'allow-always':
        return {
          verdict: 'allow',
          ...(params !== question.params && { params }),
          ...(model !== question.choice.model && { model }),
          ...(context && { context }),
          ...rememberAnswer(choice),
        }
      case 'show':
        prompter.say(requestText(params, palette).split('\n'))
        isFullyShown = true
        break
      case 'edit': {
        const edited = await editRequest(params, question.params.maxTokens, { prompter, env })
        if (edited === cancelled) break
        params = edited
        ;({ all: isFullyShown } = showText(requestText(params, palette), prompter))
        break
      }
      case 'model':
        model = (await askModel(question, prompter)) ?? model
        prompter.say([`Model: ${palette.bold(oneLine(model))}`])
        break
      case 'context':
        context = !context
        if (context) prompter.say(requestText(textsAsRequest(texts), palette).split('\n').slice(1))
        break
      case 'deny':
        return { verdict: 'deny' }
      default:
        return undefined
    }
  }
}

/** Shows the model's response before the server receives it. Undefined, as for Esc, defers it. */
export async function reviewResult(
  question: Of<'sampling-result'>,
  prompter: Prompter,
  palette: Palette,
  env: NodeJS.ProcessEnv,
): Promise<HostAnswers['sampling-result'] | undefined> {
  const server = oneLine(question.cause.server, 40)
  const answers = [...(question.earlier ?? []).map((one) => one.result), question.result]
  let chosenIndex = answers.length - 1
  let { result } = question
  prompter.say(resultHeading(question, palette))
  let { all } = showText(resultText(result, palette), prompter)
  for (;;) {
    const choice = await prompter.select<ResultChoice>({
      message: 'Return this response to the server?',
      options: [
        { value: 'deny', label: 'Deny', key: 'n' },
        { value: 'allow', label: 'Return it', key: 'y' },
        ...(all ? [] : [{ value: 'show' as const, label: 'Show all of it', key: 's' }]),
        { value: 'edit', label: 'Edit', key: 'e' },
        { value: 'again', label: 'Ask again', key: 'g' },
        ...(question.choice.ranking.length > 1
          ? [{ value: 'model' as const, label: 'Ask another model', key: 'm' }]
          : []),
        ...(answers.length > 1
          ? [{ value: 'earlier' as const, label: `Compare the ${answers.length} answers`, key: 'c' }]
          : []),
        ...rememberOptions(`Return it, and skip review of responses to ${server}`),
        laterChoice(question.id, prompter),
      ],
      initial: 'deny',
    })
    switch (choice) {
      case 'allow':
      case 'allow-conversation':
      case 'allow-always':
        return {
          verdict: 'allow',
          ...(chosenIndex < answers.length - 1 && { chosen: chosenIndex }),
          ...(result !== answers[chosenIndex] && { result }),
          ...rememberAnswer(choice),
        }
      case 'show':
        prompter.say(resultText(result, palette).split('\n'))
        all = true
        break
      case 'edit': {
        const edited = await editResult(result, { prompter, env })
        if (edited === cancelled) break
        result = edited
        ;({ all } = showText(resultText(result, palette), prompter))
        break
      }
      case 'earlier': {
        for (const [n, one] of answers.entries())
          prompter.say([
            palette.bold(`Answer ${n + 1}, of ${oneLine(one.model)}`),
            ...resultText(one, palette).split('\n'),
          ])
        const n = await prompter.select({
          message: 'Which answer should be returned?',
          options: answers.map((one, at) => ({
            value: String(at),
            label: `Answer ${at + 1}`,
            hint: oneLine(one.model),
          })),
          initial: String(chosenIndex),
        })
        if (n === cancelled) break
        chosenIndex = Number(n)
        result = answers[chosenIndex] ?? question.result
        break
      }
      case 'again':
        return { verdict: 'regenerate' }
      case 'model': {
        const model = await askModel(question, prompter)
        if (model === undefined) break
        return { verdict: 'regenerate', model }
      }
      case 'deny':
        return { verdict: 'deny' }
      default:
        return undefined
    }
  }
}

function rememberOptions(label: string): { value: Remembering; label: string; hint: string; key?: string }[] {
  const hint = 'within the budget of the server; revoke it with jackfield sampling'
  return [
    { value: 'allow-conversation', label: `${label} until the end of this conversation`, hint, key: 'a' },
    { value: 'allow-always', label: `${label} from now on`, hint },
  ]
}

function rememberAnswer(choice: 'allow' | Remembering): { remember?: 'conversation' | 'always' } {
  if (choice === 'allow') return {}
  return { remember: choice === 'allow-always' ? 'always' : 'conversation' }
}

async function askModel(
  { choice }: Pick<Of<'sampling-request'>, 'choice'>,
  prompter: Prompter,
): Promise<string | undefined> {
  const chosen = await prompter.select({
    message: 'Which model?',
    options: choice.ranking.map(({ model, reason }) => ({
      value: model,
      label: oneLine(model),
      hint: oneLine(reason),
    })),
    initial: choice.model,
  })
  return chosen === cancelled ? undefined : chosen
}

function textsAsRequest(texts: readonly { text: string }[]): Of<'sampling-request'>['params'] {
  return {
    messages: [{ role: 'user', content: texts.map(({ text }) => ({ type: 'text', text })) }],
    maxTokens: 1,
  }
}
