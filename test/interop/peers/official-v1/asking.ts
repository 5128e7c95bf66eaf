import type { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js'
import { type CreateMessageRequest, UrlElicitationRequiredError } from '@modelcontextprotocol/sdk/types.js'
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
const askName = { message: 'What is your name?', requestedSchema: nameForm }
const urlElicitation = (elicitationId: string) => ({
  mode: 'url' as const,
  message: 'Please sign in',
  url: signInUrl,
  elicitationId,
})

/** Tools and a prompt that ask the client back. */
export function registerAsking(mcp: McpServer): void {
  const { server } = mcp
  mcp.registerTool('ask', {}, async ({ requestId }) => {
    const { action, content } = await server.elicitInput(askName, { relatedRequestId: requestId })
    return say(JSON.stringify({ action, content }))
  })
  mcp.registerTool('ask_choices', {}, async ({ requestId }) => {
    const form = { message: 'How do you take your tea?', requestedSchema: choicesForm }
    const { action, content } = await server.elicitInput(form, { relatedRequestId: requestId })
    return say(JSON.stringify({ action, content }))
  })
  mcp.registerTool('ask_twice', {}, async ({ requestId }) => {
    const related = { relatedRequestId: requestId }
    const first = await server.elicitInput(askName, related)
    const form = { message: 'Which color do you like?', requestedSchema: colorForm }
    const second = await server.elicitInput(form, related)
    return say(`${first.content?.['name']} likes ${second.content?.['color']}`)
  })
  mcp.registerTool('ask_together', {}, async ({ requestId }) => {
    const related = { relatedRequestId: requestId }
    const [person, answer, { roots }] = await Promise.all([
      server.elicitInput(askName, related),
      server.createMessage(modelRequest, related),
      server.listRoots({}, related),
    ])
    const reply = answer.content.type === 'text' ? answer.content.text : ''
    return say(`${reply} ${person.content?.['name']}, ${roots.length} folders`)
  })
  mcp.registerTool('ask_url', {}, async ({ requestId }) => {
    const { action } = await server.elicitInput(urlElicitation(signInId), { relatedRequestId: requestId })
    return say(JSON.stringify({ action }))
  })
  mcp.registerTool('url_required', {}, () => {
    throw new UrlElicitationRequiredError([urlElicitation(signInId)])
  })
  mcp.registerTool('url_complete', {}, async ({ requestId }) => {
    const related = { relatedRequestId: requestId }
    await server.elicitInput(urlElicitation('sign-in-2'), related)
    await server.createElicitationCompletionNotifier('sign-in-2', related)()
    return say('sign-in-2')
  })
  mcp.registerTool('sample', {}, async ({ requestId }) => {
    const { model, content } = await server.createMessage(modelRequest, { relatedRequestId: requestId })
    return say(`${model}: ${content.type === 'text' ? content.text : content.type}`)
  })
  mcp.registerTool('sample_tools', {}, async ({ requestId }) => {
    const request: CreateMessageRequest['params'] = { ...modelRequest, tools: [modelTool] }
    const { stopReason, content } = await server.createMessage(request, { relatedRequestId: requestId })
    const blocks = Array.isArray(content) ? content : [content]
    const uses = blocks.map((block) => {
      return block.type === 'tool_use' ? `${block.name} ${JSON.stringify(block.input)}` : block.type
    })
    return say(`${stopReason}: ${uses.join(', ')}`)
  })
  mcp.registerTool('folders', {}, async ({ requestId }) => {
    const { roots } = await server.listRoots({}, { relatedRequestId: requestId })
    return say(JSON.stringify(roots.map(({ uri }) => uri)))
  })
  mcp.registerPrompt('asks', {}, async ({ requestId }) => {
    const { content } = await server.elicitInput(askName, { relatedRequestId: requestId })
    return {
      messages: [{ role: 'user', content: { type: 'text', text: `Greet ${content?.['name']}.` } }],
    }
  })
}
