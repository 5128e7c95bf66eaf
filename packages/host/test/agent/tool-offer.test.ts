import type { SamplingMessage } from '@jackfield/sdk'
import { describe, expect, test } from 'vitest'
import { createConversation, type ToolCallEvent } from '../../src/models/agent/index.ts'
import type { CatalogTool, ModelRequest } from '../../src/types/index.ts'
import { corpusTools } from '../scale/corpus.ts'
import { type FakeHost, fakeHost, scriptedModel, text, textReply, uses } from './host.ts'

/** A host with five hundred tools, of which one does something. */
function crowded(tools: readonly CatalogTool[] = corpusTools): FakeHost {
  const host = fakeHost({ github__create_issue: ({ title }) => text(`made ${title}`) })
  let present = tools
  host.tools = () => [...present]
  return Object.assign(host, { become: (next: readonly CatalogTool[]) => (present = next) })
}

function resultText(message: SamplingMessage | undefined): string {
  const content = Array.isArray(message?.content) ? message.content : []
  return content
    .flatMap((block) => (block.type === 'tool_result' ? block.content : []))
    .map((block) => (block.type === 'text' ? block.text : `[${block.type}]`))
    .join('\n')
}

const names = (request: ModelRequest | undefined): string[] => (request?.tools ?? []).map(({ name }) => name)
const meta = ['list_resources', 'read_resource', 'read_result', 'search_tools', 'inspect_tool', 'call_tool']

describe('with five hundred tools', () => {
  test('a model gets three search tools instead, of at most 2 500 tokens', async () => {
    const host = crowded()
    const model = scriptedModel(textReply('ok'))
    await createConversation({ host, model }).say('Hi')
    expect(names(model.requests[0])).toEqual(meta)
    // Three bytes a token is more than any tokenizer needs for such text.
    expect(JSON.stringify(model.requests[0]?.tools).length / 3).toBeLessThanOrEqual(2_500)
    expect(host.toolSearch.meter().tokens).toBeGreaterThan(100_000)
    expect(model.requests[0]?.tools?.[3]?.description).toContain('github (25)')
  })

  test('the tools of thirty turns are byte-identical, whatever is searched and called', async () => {
    const host = crowded()
    const model = scriptedModel(
      uses('', ['search_tools', { query: 'open a bug report in our repository' }]),
      uses('', ['inspect_tool', { names: ['github__create_issue'] }]),
      uses('', ['call_tool', { name: 'github__create_issue', arguments: { title: 'It rains' } }]),
      textReply('ok'),
    )
    const conversation = createConversation({ host, model })
    for (let turn = 1; turn <= 30; turn += 1) await conversation.say(`turn ${turn}`)
    expect(model.requests.length).toBe(33)
    const bytes = new Set(model.requests.map(({ tools }) => JSON.stringify(tools)))
    expect(bytes.size).toBe(1)
  })

  test('found tools can be inspected and are called through the broker by their own name', async () => {
    const host = crowded()
    const model = scriptedModel(
      uses('', ['search_tools', { query: 'report a defect on github' }]),
      uses('', ['inspect_tool', { names: ['github__create_issue', 'github__nothing'] }]),
      uses('', ['call_tool', { name: 'github__create_issue', arguments: { title: 'It rains' } }]),
      textReply('ok'),
    )
    const events: ToolCallEvent[] = []
    await createConversation({ host, model, id: 'c1' }).say('Go', {
      onToolCall: (event) => events.push(event),
    })
    const [found, whole, made] = model.requests.slice(1).map(({ messages }) => resultText(messages.at(-1)))
    expect(found).toMatch(/^\d+ of \d+, the best first:\n/)
    expect(found).toContain(
      'github__create_issue(repo, title?, labels?, page_size?, dry_run?)  Creates an issue',
    )
    expect(whole).toContain('"inputSchema":{"type":"object"')
    expect(whole).toContain('There is no tool "github__nothing"')
    expect(made).toBe('made It rains')
    expect(host.calls).toEqual([
      { name: 'github__create_issue', args: { title: 'It rains' }, caller: 'chat', cause: 3 },
    ])
    expect(events.slice(-2)).toMatchObject([
      { type: 'start', name: 'github__create_issue', arguments: { title: 'It rains' } },
      { type: 'end', name: 'github__create_issue', decision: { verdict: 'allow' } },
    ])
  })

  test('a refusal reaches the model as for a direct call', async () => {
    const host = crowded()
    host.denied.add('github__create_issue')
    const model = scriptedModel(uses('', ['call_tool', { name: 'github__create_issue' }]), textReply('ok'))
    const events: ToolCallEvent[] = []
    await createConversation({ host, model }).say('Go', { onToolCall: (event) => events.push(event) })
    expect(events.at(-1)).toMatchObject({ name: 'github__create_issue', denied: true })
    expect(resultText(model.requests[1]?.messages.at(-1))).toContain('denied this call')
  })

  test('invalid calls are explained, and nothing is called', async () => {
    const host = crowded()
    const model = scriptedModel(
      uses(
        '',
        ['search_tools', {}],
        ['search_tools', { query: 'x', server: 'nobody' }],
        ['search_tools', { query: 'qqqqqqqq' }],
        ['inspect_tool', { names: 'github__create_issue' }],
        ['call_tool', { name: 'call_tool' }],
        ['call_tool', { name: 'github__create_issue', arguments: 'title' }],
        ['call_tool', { name: 'github__no_such' }],
      ),
      textReply('ok'),
    )
    await createConversation({ host, model }).say('Go')
    const notice = resultText(model.requests[1]?.messages.at(-1)).split('\n')
    expect(notice).toMatchObject([
      expect.stringContaining('needs "query"'),
      expect.stringContaining('no tools of a server "nobody". Servers are: github, gitlab'),
      expect.stringContaining('No match'),
      expect.stringContaining('needs "names"'),
      expect.stringContaining('call_tool needs "name"'),
      expect.stringContaining('call_tool needs "name"'),
      expect.stringContaining('There is no tool "github__no_such" at present'),
    ])
    expect(host.calls).toEqual([])
  })

  test.each(['names', 'brief', 'full'])('a search at the level %s stays within its limit', async (detail) => {
    const model = scriptedModel(
      uses('', ['search_tools', { query: 'list get create delete update', limit: 1_000, detail }]),
      textReply('ok'),
    )
    await createConversation({ host: crowded(), model }).say('Go')
    const found = resultText(model.requests[1]?.messages.at(-1))
    expect(found.length).toBeLessThan(16_200)
    expect(found).toMatch(/^25 of \d+, the best first/)
    expect(found.includes('inputSchema')).toBe(detail === 'full')
    expect(found.includes('(')).toBe(detail !== 'names')
  })

  test('a tool that is always shown is offered in full', async () => {
    const tools = corpusTools.map((entry) =>
      entry.name === 'weather__getForecast' ? { ...entry, always: true as const } : entry,
    )
    const model = scriptedModel(textReply('ok'))
    await createConversation({ host: crowded(tools), model }).say('Hi')
    expect(names(model.requests[0])).toEqual([...meta, 'weather__getForecast'])
  })

  test('a model without token costs gets the current tools', async () => {
    const model = { ...scriptedModel(textReply('ok')), isLanguageModel: false }
    await createConversation({ host: crowded(), model }).say('Hi')
    expect(model.requests[0]?.tools).toHaveLength(503)
  })
})

describe('when tools change during a conversation', () => {
  const [first, second, third, ...rest] = corpusTools
  const few = [first, second, third].filter((entry) => entry !== undefined)

  test('too many of them turn to search, and offered ones stay', async () => {
    const host = crowded(few)
    const model = scriptedModel(textReply('ok'))
    const conversation = createConversation({ host, model })
    await conversation.say('1')
    host.tools = () => [...few, ...rest]
    await conversation.say('2')
    const [before, after] = model.requests.map(({ tools }) => JSON.stringify(tools).slice(0, -1))
    expect(after?.startsWith(before ?? '-')).toBe(true)
    expect(names(model.requests[1]).slice(6)).toEqual(['search_tools', 'inspect_tool', 'call_tool'])
    const note = JSON.stringify(model.requests[1]?.messages.at(-2))
    expect(note).toContain('From Jackfield, not from the person')
    expect(note).toContain('to be found with search_tools')
    expect(note).toContain('and 467 more')
  })

  test('a removed tool fails with an explanation, and its return is announced', async () => {
    const host = crowded(few)
    const gone = few[0]?.name ?? ''
    const model = scriptedModel(
      textReply('ok'),
      () => {
        host.tools = () => few.slice(1)
        return uses('', [few[1]?.name ?? ''], [gone])
      },
      textReply('ok'),
    )
    host.runs = Object.fromEntries(few.map(({ name }) => [name, () => text('done')]))
    const conversation = createConversation({ host, model })
    await conversation.say('1')
    await conversation.say('2')
    const messages = model.requests[2]?.messages ?? []
    expect(resultText(messages.at(-2))).toContain(`There is no tool "${gone}" at present`)
    expect(JSON.stringify(messages.at(-1))).toContain(`calls of them fail: ${gone}.`)
    host.tools = () => few
    await conversation.say('3')
    expect(JSON.stringify(model.requests[3]?.messages.at(-2))).toContain(`Back: ${gone}.`)
    expect(new Set(model.requests.map(({ tools }) => JSON.stringify(tools))).size).toBe(1)
  })

  test('a changed definition is announced once, and the offered one stays', async () => {
    const host = crowded(few)
    const model = scriptedModel(textReply('ok'))
    const conversation = createConversation({ host, model })
    await conversation.say('1')
    host.tools = () =>
      few.map((entry) => ({
        ...entry,
        tool: { ...entry.tool, description: `Now it does more: ${entry.name}` },
      }))
    await conversation.say('2')
    await conversation.say('3')
    expect(JSON.stringify(model.requests[1]?.messages.at(-2))).toContain(`Now it does more: ${few[0]?.name}`)
    expect(model.requests[2]?.messages.at(-2)?.role).toBe('assistant')
    expect(new Set(model.requests.map(({ tools }) => JSON.stringify(tools))).size).toBe(1)
  })
})

describe('programs', () => {
  test('are offered only if switched on', async () => {
    const off = scriptedModel(uses('', ['run_code', { program: 'return 1' }]), textReply('ok'))
    await createConversation({ host: crowded(), model: off }).say('Hi')
    expect(names(off.requests[0])).not.toContain('run_code')
    expect(resultText(off.requests[1]?.messages.at(-1))).toContain('There is no tool "run_code"')
    const on = scriptedModel(textReply('ok'))
    await createConversation({ host: crowded(), model: on, codeMode: true }).say('Hi')
    expect(names(on.requests[0])).toEqual(expect.arrayContaining(['run_code', 'describe_api', ...meta]))
  })
})
