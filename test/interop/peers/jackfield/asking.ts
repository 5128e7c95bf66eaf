import { type Context, inputRequired, prompt, RpcError, type Server, tool } from '@jackfield/sdk'
import { z } from 'zod'
import {
  choicesForm,
  colorForm,
  modelRequest,
  modelTool,
  nameForm,
  signInId,
  signInUrl,
} from '../contract.ts'

const answered = z.object({ content: z.object({ name: z.string() }) })
const asName = { message: 'What is your name?', schema: nameForm }

async function said(ctx: Context): Promise<string> {
  const { content } = await ctx.sample(modelRequest)
  return [content]
    .flat()
    .map((block) => (block.type === 'text' ? block.text : block.type))
    .join('')
}

/** Tools that ask the client back. */
export const askingTools = {
  ask: tool({
    run: async (_args, ctx) => JSON.stringify(await ctx.elicit(asName)),
  }),
  ask_choices: tool({
    run: async (_args, ctx) =>
      JSON.stringify(await ctx.elicit({ message: 'How do you take your tea?', schema: choicesForm })),
  }),
  ask_explicit: tool({
    run(_args, ctx) {
      const answer = answered.safeParse(ctx.answers['name'])
      if (answer.success) return `${answer.data.content.name}, ${ctx.state} cups`
      const params = { message: asName.message, requestedSchema: nameForm }
      return inputRequired({ requests: { name: { method: 'elicitation/create', params } }, state: 'three' })
    },
  }),
  ask_twice: tool({
    async run(_args, ctx) {
      const first = await ctx.elicit(asName)
      const second = await ctx.elicit({ message: 'Which color do you like?', schema: colorForm })
      const name = first.action === 'accept' ? first.content['name'] : 'nobody'
      const color = second.action === 'accept' ? second.content['color'] : 'nothing'
      return `${name} likes ${color}`
    },
  }),
  ask_together: tool({
    async run(_args, ctx) {
      const [person, greeting, roots] = await Promise.all([ctx.elicit(asName), said(ctx), ctx.roots()])
      const name = person.action === 'accept' ? person.content['name'] : 'nobody'
      return `${greeting} ${name}, ${roots.length} folders`
    },
  }),
  ask_url: tool({
    async run(_args, ctx) {
      const { action } = await ctx.elicitUrl({ message: 'Please sign in', url: signInUrl })
      return JSON.stringify({ action })
    },
  }),
  url_required: tool({
    run(): string {
      throw new RpcError(-32042, 'Sign in first', {
        elicitations: [{ mode: 'url', elicitationId: signInId, url: signInUrl, message: 'Please sign in' }],
      })
    },
  }),
  sample: tool({
    async run(_args, ctx) {
      const { model, content } = await ctx.sample(modelRequest)
      return `${model}: ${[content]
        .flat()
        .map((block) => (block.type === 'text' ? block.text : ''))
        .join('')}`
    },
  }),
  sample_tools: tool({
    async run(_args, ctx) {
      const { stopReason, content } = await ctx.sample({ ...modelRequest, tools: [modelTool] })
      const uses = [content].flat().map((block) => {
        return block.type === 'tool_use' ? `${block.name} ${JSON.stringify(block.input)}` : block.type
      })
      return `${stopReason}: ${uses.join(', ')}`
    },
  }),
  folders: tool({
    run: async (_args, ctx) => JSON.stringify((await ctx.roots()).map(({ uri }) => uri)),
  }),
}

export const askingPrompts = {
  asks: prompt({
    async run(_args, ctx) {
      const answer = await ctx.elicit(asName)
      return `Greet ${answer.action === 'accept' ? answer.content['name'] : 'nobody'}.`
    },
  }),
}

/** A tool that reports when its URL elicitation is complete. */
export function addUrlElicitation(server: Server): void {
  server.add({
    tools: {
      url_complete: tool({
        async run(_args, ctx) {
          const id = 'sign-in-2'
          await ctx.elicitUrl({ message: 'Please sign in', url: signInUrl, id })
          server.elicitationComplete(id)
          return id
        },
      }),
    },
  })
}
