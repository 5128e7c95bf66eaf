import { defineServer, type JsonObject, prompt, resource, template, tool } from '@jackfield/sdk'
import { tasks } from '@jackfield/sdk/extensions/tasks'
import { expect, onTestFinished } from 'vitest'
import { z } from 'zod'
import {
  type Ask,
  type Mounted,
  modern,
  nodeAdapter,
  session,
} from '../../../packages/sdk/test/serve/http-support.ts'
import { initialize } from '../../../packages/sdk/test/serve/support.ts'
import { faultyPeer } from '../../setup/faulty-peer.ts'
import { campaign } from '../campaign.ts'

/** The members that every JavaScript object inherits. */
const inherited = [
  ...new Set([
    ...Object.getOwnPropertyNames(Object.prototype),
    ...Object.getOwnPropertyNames(Array.prototype).slice(0, 3),
    ...['prototype', 'name', 'then', 'size', 'has', 'get', 'apply', 'call', 'arguments', 'caller'],
  ]),
]
const unknown = 'nobodyKnows'
const revisions = {
  change: ['2025-11-25', '2026-07-28'],
  long: ['2024-11-05', '2025-03-26', '2025-06-18', '2025-11-25', '2026-07-28'],
}
/** Requests that contain a name, and the headers that repeat it. */
const places: readonly NamedRequest[] = [
  (name) => ({ method: name }),
  (name) => ({ method: `things/${name}` }),
  (name) => ({ method: 'tools/call', params: { name, arguments: {} } }),
  (name) => ({ method: 'prompts/get', params: { name, arguments: {} } }),
  (name) => ({ method: 'resources/read', params: { uri: name } }),
  (name) => ({ method: 'resources/read', params: { uri: `items://${name}/${name}` } }),
  (name) => ({
    method: 'completion/complete',
    params: { ref: { type: 'ref/prompt', name }, argument: { name: 'about', value: '' } },
  }),
  (name) => ({
    method: 'completion/complete',
    params: { ref: { type: 'ref/prompt', name: 'greet' }, argument: { name, value: '' } },
  }),
  (name) => ({
    method: 'completion/complete',
    params: { ref: { type: 'ref/resource', uri: 'items://{id}' }, argument: { name, value: '' } },
  }),
  (name) => ({ method: 'tasks/get', params: { taskId: name } }),
  (name) => ({ method: 'logging/setLevel', params: { level: name } }),
  (name) => ({ method: 'tools/list', params: { cursor: name } }),
  (name) => ({ method: 'prompts/get', params: { name: `needs.${name}`, arguments: {} } }),
]
/** Requests that contain a name outside the messages of a session. */
const outside: readonly ((name: string) => Ask)[] = [
  (name) => ({ body: initialize(name) }),
  (name) => ({ method: 'GET', headers: { 'mcp-session-id': name } }),
  (name) => ({ method: 'DELETE', headers: { 'mcp-session-id': name } }),
  (name) => ({ path: `/${name}`, body: initialize() }),
  (name) => ({ body: initialize(), headers: { 'mcp-protocol-version': name } }),
]

interface NamesReceived {
  status: number
  body: string
}
type NamedRequest = (name: string) => { method: string; params?: JsonObject }

campaign(
  {
    id: 'inherited-names',
    chapter: 'Sessions and streams',
    claim: 'A name of a prototype member is answered like any other unknown name',
    trial: 'inherited name in a place of a request',
    trials: { change: 0, long: 0 },
  },
  async (campaignRun) => {
    faultyPeer('names that are not known, in place of methods, levels and more')
    const mounted = await nodeAdapter(server(), { keys: ['k'.repeat(32)] })
    onTestFinished(() => mounted.close())
    let trials = 0
    for (const [at, place] of outside.entries()) {
      const blank = await namesFrom(mounted, place(unknown))
      for (const name of inherited) {
        trials++
        expect(await namesFrom(mounted, place(name)), `${name} outside, ${at}`).toEqual(of(name, blank))
      }
    }
    for (const revision of campaignRun.long ? revisions.long : revisions.change) {
      const send = await speaker(mounted, revision)
      for (const [at, place] of places.entries()) {
        const blank = await send(place, unknown)
        for (const name of inherited) {
          trials++
          expect(await send(place, name), `${name} on ${revision}, ${at}`).toEqual(of(name, blank))
        }
      }
    }
    campaignRun.setTrials(trials)
  },
)

function server() {
  const { hasOwn } = Object
  const needing = (name: string) => z.object({ [name]: z.string() })
  const each = [...inherited, unknown]
  const prompts = each.map((name) => [`needs.${name}`, prompt({ input: needing(name), run: () => 'ran' })])
  return defineServer({
    name: 'names',
    version: '1.0.0',
    tools: { known: tool({ run: () => 'known' }) },
    prompts: {
      ...Object.fromEntries(prompts),
      greet: prompt({
        input: z.object({ about: z.string() }),
        complete: { about: () => ['x'] },
        run: () => 'hi',
      }),
    },
    resources: {
      one: resource({ uri: 'one://', read: () => 'one' }),
      item: template({
        uriTemplate: 'items://{id}',
        complete: { id: () => ['1'] },
        read: ({ id }) => (hasOwn({ one: 1 }, id) ? 'one' : 'another'),
      }),
    },
    extensions: [tasks()],
    onError: () => {},
  })
}

/** Sends requests of one revision, in a session where it has such. */
async function speaker(mounted: Mounted, revision: string) {
  const own = revision === '2026-07-28' ? undefined : await session(mounted, revision)
  return (place: NamedRequest, name: string): Promise<NamesReceived> => {
    const { method, params = {} } = place(name)
    if (own === undefined) {
      const named = params['taskId']
      return namesFrom(
        mounted,
        modern(method, params, typeof named === 'string' ? { 'mcp-name': named } : {}),
      )
    }
    const headers = { 'mcp-session-id': own.id, 'mcp-protocol-version': revision }
    return namesFrom(mounted, { headers, body: { jsonrpc: '2.0', id: 1, method, params } })
  }
}

/** The status and the body of an answer. */
async function namesFrom(mounted: Mounted, ask: Ask): Promise<NamesReceived> {
  const answer = await mounted.send(ask)
  return { status: answer.status, body: await answer.text() }
}

/** The response to an unknown name, without the name. */
function of(name: string, { status, body }: NamesReceived): NamesReceived {
  return { status, body: body.replaceAll(unknown, name) }
}
