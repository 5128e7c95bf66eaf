import {
  acceptedContent,
  type InputRequest,
  type InputRequiredResult,
  type InputResponseView,
  inputRequired,
  inputResponse,
  type McpServer,
  type ServerContext,
  UrlElicitationRequiredError,
} from '@modelcontextprotocol/server'
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

const say = (text: string) => ({ content: [{ type: 'text' as const, text }] })
const none = { inputSchema: z.object({}) }
const named = z.object({ name: z.string() })
const colored = z.object({ color: z.string() })

const askName = () => inputRequired.elicit({ message: 'What is your name?', requestedSchema: nameForm })
const askColor = () =>
  inputRequired.elicit({ message: 'Which color do you like?', requestedSchema: colorForm })
const urlRequest = { message: 'Please sign in', url: signInUrl }

/** Asks one question and hands its answer on, in the form that works on both eras. */
function asking<T>(question: () => InputRequest, then: (answer: InputResponseView) => T) {
  return (ctx: ServerContext): T | InputRequiredResult => {
    const answer = inputResponse(ctx.mcpReq.inputResponses, 'asked')
    return answer.kind === 'missing' ? inputRequired({ inputRequests: { asked: question() } }) : then(answer)
  }
}

/** Tools and a prompt that ask the client back. */
export function registerAsking(mcp: McpServer): void {
  registerForms(mcp)
  registerUrlElicitations(mcp)
  registerModel(mcp)
}

function registerForms(mcp: McpServer): void {
  const readAnswer = (answer: InputResponseView) =>
    say(
      answer.kind === 'elicit'
        ? JSON.stringify({ action: answer.action, content: answer.content })
        : answer.kind,
    )
  const ask = asking(askName, readAnswer)
  mcp.registerTool('ask', none, (_args, ctx) => ask(ctx))
  const askChoices = asking(
    () => inputRequired.elicit({ message: 'How do you take your tea?', requestedSchema: choicesForm }),
    readAnswer,
  )
  mcp.registerTool('ask_choices', none, (_args, ctx) => askChoices(ctx))
  mcp.registerTool('ask_twice', none, (_args, { mcpReq }) => {
    const { name } = acceptedContent(mcpReq.inputResponses, 'name', named) ?? {}
    if (name !== undefined) return inputRequired({ inputRequests: { color: askColor() }, requestState: name })
    const { color } = acceptedContent(mcpReq.inputResponses, 'color', colored) ?? {}
    if (color !== undefined) return say(`${mcpReq.requestState<string>()} likes ${color}`)
    return inputRequired({ inputRequests: { name: askName() } })
  })
  const registerGreeting = asking(askName, (answer) => {
    const name = answer.kind === 'elicit' ? answer.content?.['name'] : answer.kind
    const content = { type: 'text' as const, text: `Greet ${name}.` }
    return { messages: [{ role: 'user' as const, content }] }
  })
  mcp.registerPrompt('asks', {}, (ctx) => registerGreeting(ctx))
}

function registerUrlElicitations(mcp: McpServer): void {
  const ask = asking(
    () => inputRequired.elicitUrl(urlRequest),
    (answer) => say(JSON.stringify({ action: answer.kind === 'elicit' ? answer.action : answer.kind })),
  )
  mcp.registerTool('ask_url', none, (_args, ctx) => ask(ctx))
  mcp.registerTool('url_required', none, () => {
    throw new UrlElicitationRequiredError([{ mode: 'url', ...urlRequest, elicitationId: signInId }])
  })
  mcp.registerTool('url_complete', none, async (_args, { mcpReq }) => {
    const elicitationId = 'sign-in-2'
    await mcpReq.elicitInput({ mode: 'url', ...urlRequest, elicitationId })
    await mcpReq.notify({ method: 'notifications/elicitation/complete', params: { elicitationId } })
    return say(elicitationId)
  })
}

function registerModel(mcp: McpServer): void {
  const sample = asking(
    () => inputRequired.createMessage(modelRequest),
    (answer) => {
      if (answer.kind !== 'sampling') return say(answer.kind)
      const { model, content } = answer.result
      const [block] = [content].flat()
      return say(`${model}: ${block?.type === 'text' ? block.text : block?.type}`)
    },
  )
  mcp.registerTool('sample', none, (_args, ctx) => sample(ctx))
  const sampleTools = asking(
    () => inputRequired.createMessage({ ...modelRequest, tools: [modelTool] }),
    (answer) => {
      if (answer.kind !== 'sampling') return say(answer.kind)
      const { stopReason, content } = answer.result
      const blocks = Array.isArray(content) ? content : [content]
      const uses = blocks.map((block) => {
        return block.type === 'tool_use' ? `${block.name} ${JSON.stringify(block.input)}` : block.type
      })
      return say(`${stopReason}: ${uses.join(', ')}`)
    },
  )
  mcp.registerTool('sample_tools', none, (_args, ctx) => sampleTools(ctx))
  const folders = asking(
    () => inputRequired.listRoots(),
    (answer) =>
      say(answer.kind === 'roots' ? JSON.stringify(answer.roots.map(({ uri }) => uri)) : answer.kind),
  )
  mcp.registerTool('folders', none, (_args, ctx) => folders(ctx))
  mcp.registerTool('ask_together', none, (_args, { mcpReq: { inputResponses } }) => {
    const answers = ['person', 'model', 'roots'].map((key) => inputResponse(inputResponses, key))
    if (answers.some(({ kind }) => kind === 'missing')) {
      const model = inputRequired.createMessage(modelRequest)
      return inputRequired({ inputRequests: { person: askName(), model, roots: inputRequired.listRoots() } })
    }
    const words = answers.map((answer) => {
      if (answer.kind === 'elicit') return answer.content?.['name']
      if (answer.kind === 'roots') return `${answer.roots.length} folders`
      if (answer.kind !== 'sampling') return answer.kind
      const [block] = [answer.result.content].flat()
      return block?.type === 'text' ? block.text : block?.type
    })
    return say(`${words[1]} ${words[0]}, ${words[2]}`)
  })
}
