import { type AnyTool, ask, inputRequired, type SamplingMessage, tool } from '@jackfield/sdk'
import { z } from 'zod'

const question = { type: 'text' as const, text: 'Capital of France?' }
const user = (content: SamplingMessage['content']): SamplingMessage => ({ role: 'user', content })
const use = { type: 'tool_use' as const, id: 'use', name: 'weather', input: {} }
const used = { type: 'tool_result' as const, toolUseId: 'use', content: [] }
const weather = [{ name: 'weather', inputSchema: { type: 'object' as const } }]
const sure = z.object({ ok: z.boolean(), note: z.string().max(10).default('none') })
const called: SamplingMessage = { role: 'assistant', content: [use] }

/** Conversations a model may be asked to go on with, some of them against the rules. */
const conversations: Readonly<Record<string, SamplingMessage[]>> = {
  balanced: [user(question), called, user([used])],
  unanswered: [user(question), called],
  late: [called, user(question), user([used])],
  mixed: [called, user([used, question])],
}

/** Tools that ask the client without looking at what it can answer; `finished` reports that a URL elicitation is complete. */
export function askingTools(finished: (id: string) => void): Record<string, AnyTool> {
  let effects = 0
  return {
    form: tool({
      async run(_args, ctx) {
        const answer = await ctx.elicit({ message: 'Sure?', schema: sure })
        return answer.action === 'accept' ? JSON.stringify(answer.content) : answer.action
      },
    }),
    caught: tool({
      description: 'Continues whatever the outcome of its question',
      async run(_args, ctx) {
        try {
          await ctx.elicit({ message: 'Sure?', schema: sure })
          return 'answered'
        } catch {
          return 'went on'
        }
      },
    }),
    visit: tool({
      input: z.object({ id: z.string().optional(), url: z.string().default('https://example.com/in') }),
      async run({ id, url }, ctx) {
        const named = id === undefined ? {} : { id }
        return (await ctx.elicitUrl({ message: 'Sign in', url, ...named })).action
      },
    }),
    finish: tool({
      input: z.object({ id: z.string() }),
      run({ id }) {
        finished(id)
        return 'told'
      },
    }),
    sample: tool({
      async run(_args, ctx) {
        const { model, content } = await ctx.sample({ messages: [user(question)], maxTokens: 20 })
        return `${model}: ${JSON.stringify(content)}`
      },
    }),
    sampleTools: tool({
      input: z.object({ conversation: z.string() }),
      async run({ conversation }, ctx) {
        const messages = conversations[conversation] ?? []
        return (await ctx.sample({ messages, maxTokens: 20, tools: weather })).model
      },
    }),
    roots: tool({ run: async (_args, ctx) => (await ctx.roots()).map(({ uri }) => uri).join(' ') }),
    two: tool({
      description: 'Asks two things in one turn, then one more, with an effect between',
      async run(_args, ctx) {
        const before = await ctx.step('begin', () => ++effects)
        const [first, second] = await Promise.all([
          ctx.elicit({ message: 'First?', schema: sure }),
          ctx.elicit({ message: 'Second?', schema: sure }),
        ])
        const after = await ctx.step('end', () => ++effects)
        const third = await ctx.elicit({ message: 'Third?', schema: sure })
        return `${first.action} ${second.action} ${third.action} ${after - before}`
      },
    }),
    carried: tool({
      description: 'Puts something by without asking, once',
      run: (_args, ctx) =>
        ctx.state === undefined ? inputRequired({ requests: {}, state: { kept: 1 } }) : 'carried',
    }),
    endless: tool({
      description: 'Asks without end',
      run(_args, ctx) {
        const n = Number(ctx.state ?? 0)
        const schema = { type: 'object' as const, properties: { ok: { type: 'boolean' as const } } }
        return inputRequired({ requests: { again: ask.elicit({ message: `${n}?`, schema }) }, state: n + 1 })
      },
    }),
  }
}
