import { z } from 'zod'
import { modelRequest, signInUrl } from '../contract.ts'
import type { Fixture } from './definition.ts'

const say = (text: string) => ({ content: [{ type: 'text' as const, text }] })
const question = 'What is your name?'
const nameSchema = z.object({ name: z.string().min(1).meta({ title: 'Your name' }) })
const colorSchema = z.object({ color: z.string() })

const choicesSchema = z.object({
  name: z.string().default('Ada'),
  email: z.email().optional(),
  cups: z.int().min(1).max(9).default(2),
  strength: z.number().default(0.5),
  milk: z.boolean().default(true),
  tea: z.enum(['black', 'green']),
  with: z.array(z.enum(['sugar', 'lemon', 'honey'])).optional(),
})

/** Tools and a prompt that ask the client back. */
export function defineAsking(server: Fixture): void {
  const tool = (name: string, run: () => Promise<string>): void => {
    server.tool({ name, description: name, replayable: true }, async () => say(await run()))
  }
  const askName = () => server.elicitation(question, nameSchema, { key: 'name' })
  tool('ask', async () => {
    const { action, content } = await askName()
    return JSON.stringify({ action, content })
  })
  tool('ask_choices', async () => {
    const { action, content } = await server.elicitation('How do you take your tea?', choicesSchema)
    return JSON.stringify({ action, content })
  })
  tool('ask_twice', async () => {
    const { content: first } = await askName()
    const { content: second } = await server.elicitation('Which color do you like?', colorSchema, {
      key: 'color',
    })
    return `${first?.name} likes ${second?.color}`
  })
  tool('ask_url', async () => {
    const { action } = await server.elicitation('Please sign in', signInUrl)
    return JSON.stringify({ action })
  })
  tool('sample', async () => {
    const { model, content } = await server.message(modelRequest)
    const [block] = [content].flat()
    return `${model}: ${block?.type === 'text' ? block.text : block?.type}`
  })
  tool('folders', async () => {
    await server.refreshRoots()
    return JSON.stringify((server.roots ?? []).map(({ uri }) => uri))
  })
  server.prompt({ name: 'asks', description: 'Asks', replayable: true }, async () => {
    const { content } = await askName()
    return { messages: [{ role: 'user', content: { type: 'text', text: `Greet ${content?.name}.` } }] }
  })
}
