import { type Context, type ElicitSchema, inputRequired, prompt, tool } from '@jackfield/sdk'
import { z } from 'zod'

const nameForm = z.object({ name: z.string() })
const okForm = z.object({ ok: z.boolean() })

const defaultsForm: ElicitSchema = {
  type: 'object',
  properties: {
    name: { type: 'string', description: 'User name', default: 'John Doe' },
    age: { type: 'integer', description: 'User age', default: 30 },
    score: { type: 'number', description: 'User score', default: 95.5 },
    status: {
      type: 'string',
      description: 'User status',
      enum: ['active', 'inactive', 'pending'],
      default: 'active',
    },
    verified: { type: 'boolean', description: 'Verification status', default: true },
  },
  required: [],
}

const options = ['option1', 'option2', 'option3']
const titled = [
  { const: 'value1', title: 'First Option' },
  { const: 'value2', title: 'Second Option' },
  { const: 'value3', title: 'Third Option' },
]

const choicesForm: ElicitSchema = {
  type: 'object',
  properties: {
    untitledSingle: { type: 'string', description: 'Select one option', enum: options },
    titledSingle: { type: 'string', description: 'Select one option with titles', oneOf: titled },
    legacyEnum: {
      type: 'string',
      description: 'Select one option (legacy)',
      enum: ['opt1', 'opt2', 'opt3'],
      enumNames: ['Option One', 'Option Two', 'Option Three'],
    },
    untitledMulti: {
      type: 'array',
      description: 'Select multiple options',
      items: { type: 'string', enum: options },
    },
    titledMulti: {
      type: 'array',
      description: 'Select multiple options with titles',
      items: { anyOf: titled },
    },
  },
  required: [],
}

const question = (text: string, maxTokens: number) => ({
  messages: [{ role: 'user' as const, content: { type: 'text' as const, text } }],
  maxTokens,
})

async function sampleText(ctx: Context, text: string, key: string, maxTokens = 100): Promise<string> {
  const { content } = await ctx.sample({ ...question(text, maxTokens), key })
  return [content]
    .flat()
    .map((block) => (block.type === 'text' ? block.text : `(${block.type})`))
    .join('')
}

async function elicitWith(ctx: Context, message: string, schema: ElicitSchema): Promise<string> {
  const answer = await ctx.elicit({ message, schema })
  const content = answer.action === 'accept' ? answer.content : {}
  return `Elicitation completed: action=${answer.action}, content=${JSON.stringify(content)}`
}

/** Tools that send input requests, in both eras. */
export const askingTools = {
  test_sampling: tool({
    description: "Asks the client's model",
    input: z.object({ prompt: z.string() }),
    run: async ({ prompt }, ctx) => `LLM response: ${await sampleText(ctx, prompt, 'sampling')}`,
  }),
  test_elicitation: tool({
    description: 'Asks the person for a name and an address',
    input: z.object({ message: z.string() }),
    async run({ message }, ctx) {
      const schema = z.object({ username: z.string(), email: z.string() })
      const answer = await ctx.elicit({ message, schema })
      return `User response: ${JSON.stringify(answer)}`
    },
  }),
  test_elicitation_sep1034_defaults: tool({
    description: 'Asks with a form whose fields have defaults',
    run: (_args, ctx) =>
      elicitWith(ctx, 'Please review and update the form fields with defaults', defaultsForm),
  }),
  test_elicitation_sep1330_enums: tool({
    description: 'Asks with a form of every kind of choice',
    run: (_args, ctx) => elicitWith(ctx, 'Please select options from the enum fields', choicesForm),
  }),
  test_missing_capability: tool({
    description: 'Needs sampling',
    run: (_args, ctx) => sampleText(ctx, 'Say something', 'needed'),
  }),
  test_streaming_elicitation: tool({
    description: 'Reports progress, then asks',
    async run(_args, ctx) {
      ctx.progress(1, 2)
      const answer = await ctx.elicit({ message: 'Go on?', schema: okForm, key: 'go_on' })
      return `Answered: ${answer.action}`
    },
  }),
  test_input_required_result_elicitation: tool({
    description: 'Asks for a name and greets',
    async run(_args, ctx) {
      const answer = await ctx.elicit({ message: 'What is your name?', schema: nameForm, key: 'user_name' })
      return answer.action === 'accept' ? `Hello, ${answer.content.name}!` : 'Hello, whoever you are!'
    },
  }),
  test_input_required_result_sampling: tool({
    description: "Asks the client's model for a capital",
    run: (_args, ctx) => sampleText(ctx, 'What is the capital of France?', 'capital_question'),
  }),
  test_input_required_result_list_roots: tool({
    description: "Lists the client's roots",
    async run(_args, ctx) {
      const roots = await ctx.roots({ key: 'client_roots' })
      return `Roots: ${roots.map(({ uri }) => uri).join(', ')}`
    },
  }),
  test_input_required_result_request_state: tool({
    description: 'Returns input requests explicitly, with its own state',
    run(_args, ctx) {
      if (ctx.state === 'state-ok' && ctx.answers['confirm'] !== undefined) return 'state-ok'
      return inputRequired({
        requests: {
          confirm: {
            method: 'elicitation/create',
            params: {
              message: 'Please confirm',
              requestedSchema: { type: 'object', properties: { ok: { type: 'boolean' } }, required: ['ok'] },
            },
          },
        },
        state: 'state-ok',
      })
    },
  }),
  test_input_required_result_multiple_inputs: tool({
    description: 'Asks three different questions at once',
    async run(_args, ctx) {
      const [user, greeting, roots] = await Promise.all([
        ctx.elicit({ message: 'What is your name?', schema: nameForm, key: 'user_name' }),
        sampleText(ctx, 'Generate a greeting', 'greeting', 50),
        ctx.roots({ key: 'client_roots' }),
      ])
      const name = user.action === 'accept' ? user.content.name : 'nobody'
      return `${greeting} ${name}, with ${roots.length} roots`
    },
  }),
  test_input_required_result_multi_round: tool({
    description: 'Asks one question after the other',
    async run(_args, ctx) {
      const first = await ctx.elicit({
        message: 'Step 1: What is your name?',
        schema: nameForm,
        key: 'step1',
      })
      const second = await ctx.elicit({
        message: 'Step 2: What is your favorite color?',
        schema: z.object({ color: z.string() }),
        key: 'step2',
      })
      const name = first.action === 'accept' ? first.content.name : 'Nobody'
      const color = second.action === 'accept' ? second.content.color : 'nothing'
      return `${name} likes ${color}`
    },
  }),
  test_input_required_result_tampered_state: tool({
    description: 'Asks for confirmation, with state that must be returned unchanged',
    async run(_args, ctx) {
      const answer = await ctx.elicit({ message: 'Please confirm', schema: okForm, key: 'confirm' })
      return `Confirmed: ${answer.action}`
    },
  }),
  test_input_required_result_capabilities: tool({
    description: 'Sends only the input requests that this client supports',
    async run(_args, ctx) {
      const answers: string[] = []
      if (ctx.can('sampling')) answers.push(await sampleText(ctx, 'Say something', 'sampled'))
      if (ctx.can('elicitation')) {
        const { action } = await ctx.elicit({ message: 'Agreed?', schema: okForm, key: 'agreed' })
        answers.push(action)
      }
      return `Answers: ${answers.join(', ')}`
    },
  }),
}

/** A prompt that sends an input request. */
export const askingPrompts = {
  test_input_required_result_prompt: prompt({
    description: 'Asks for context before it returns a prompt',
    async run(_args, ctx) {
      const answer = await ctx.elicit({
        message: 'What context should the prompt use?',
        schema: z.object({ context: z.string() }),
        key: 'user_context',
      })
      return `Use this context: ${answer.action === 'accept' ? answer.content.context : 'none'}`
    },
  }),
}
