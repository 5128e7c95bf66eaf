import { setTimeout as pause } from 'node:timers/promises'
import { defineServer, prompt, RpcError, reply, resource, type Server, template, tool } from '@jackfield/sdk'
import { z } from 'zod'
import { askingTools } from './asking-tools.ts'

const image = { type: 'image' as const, data: 'AP/+', mimeType: 'image/png' }
const sound = { type: 'audio' as const, data: 'UklGRg==', mimeType: 'audio/wav' }
const embedded = {
  type: 'resource' as const,
  resource: { uri: 'rules://text', mimeType: 'text/plain', text: 'hello' },
}
const embeddedBytes = {
  type: 'resource' as const,
  resource: { uri: 'rules://bytes', mimeType: 'image/png', blob: 'AP/+' },
}

/** A server whose handlers do what the rules of the protocol are about, and as far as possible what they forbid. */
export function createRulesServer(): Server {
  const reasons: string[] = []
  const server: Server = defineServer({
    name: 'rules',
    version: '1.0.0',
    instructions: 'Do as the rules say.',
    icons: [{ src: 'https://example.com/icon.png' }],
    pageSize: 7,
    cache: { ttlMs: 60_000, cacheScope: 'public' },
    onError: () => {},
    tools: {
      ...askingTools((id) => server.elicitationComplete(id)),
      echo: tool({ input: z.object({ text: z.string() }), run: ({ text }) => text }),
      Echo: tool({ input: z.object({ text: z.string() }), run: ({ text }) => text.toUpperCase() }),
      sum: tool({
        input: z.object({ numbers: z.array(z.number()) }),
        output: z.object({ sum: z.number() }),
        run: ({ numbers }) => ({ sum: numbers.reduce((all, one) => all + one, 0) }),
      }),
      unkept: tool({
        output: {
          type: 'object',
          properties: { sum: { type: 'number' } },
          required: ['sum'],
        },
        run: () => reply({ structured: { sum: 'seven' } }),
      }),
      media: tool({
        run: () => [
          image,
          sound,
          embedded,
          embeddedBytes,
          { type: 'resource_link', uri: 'rules://text', name: 'text' },
        ],
      }),
      broken: tool({ run: () => [{ ...image, data: 'not base64!' }] }),
      fail: tool({
        run: () => {
          throw new Error('secret')
        },
      }),
      refuse: tool({
        input: z.object({ code: z.number() }),
        run: ({ code }) => {
          throw new RpcError(code, 'Refused', { why: 'rain' })
        },
      }),
      needsVisit: tool({
        run: () => {
          throw new RpcError(-32042, 'Sign in first', {
            elicitations: [
              { mode: 'url', elicitationId: 'first', url: 'https://example.com/in', message: 'Sign in' },
            ],
          })
        },
      }),
      work: tool({
        description: 'Reports progress to and fro, logs, and goes on after its answer',
        async run(_args, ctx) {
          for (const at of [1, 3, 2, 3, 4]) {
            ctx.progress(at, 4, `step ${at}`)
            ctx.log('info', { at }, 'work')
            await pause(1)
          }
          setImmediate(() => {
            ctx.progress(5, 5, 'too late')
            ctx.log('emergency', 'too late')
          })
          return 'worked'
        },
      }),
      flood: tool({
        run(_args, ctx) {
          for (let at = 1; at <= 1000; at++) {
            ctx.progress(at, 1000)
            ctx.log('info', at)
          }
          return 'flooded'
        },
      }),
      unprintable: tool({
        run(_args, ctx) {
          const round: Record<string, unknown> = {}
          round['self'] = round
          ctx.log('error', round)
          return 'logged'
        },
      }),
      hang: tool({
        run: (_args, ctx) =>
          new Promise((_, reject) => {
            ctx.progress(1)
            ctx.signal.addEventListener('abort', () => {
              reasons.push(String(ctx.signal.reason))
              reject(ctx.signal.reason)
            })
          }),
      }),
      stubborn: tool({
        description: 'Answers although it was cancelled',
        run: (_args, ctx) =>
          new Promise<string>((resolve) => {
            ctx.progress(1)
            ctx.signal.addEventListener('abort', () => {
              reasons.push(String(ctx.signal.reason))
              ctx.progress(2)
              resolve('all the same')
            })
          }),
      }),
      tick: tool({
        description: 'Reports progress until it is cancelled',
        run: (_args, ctx) =>
          new Promise((_, reject) => {
            let at = 0
            const timer = setInterval(() => ctx.progress(++at), 2)
            ctx.signal.addEventListener('abort', () => {
              clearInterval(timer)
              reject(ctx.signal.reason)
            })
          }),
      }),
      reasons: tool({ run: () => JSON.stringify(reasons) }),
      seen: tool({
        description: 'Returns the context of the request and its sender',
        run: (_args, { meta, peer: { revision, capabilities, principal, info, logLevel } }) =>
          JSON.stringify({ meta, capabilities, principal, info, logLevel, version: revision.version }),
      }),
      tidy: tool({
        run: () => reply({ content: 'with metadata', meta: { 'example.com/kept': [1, { deep: null }] } }),
      }),
      change: tool({
        input: z.object({ what: z.enum(['tools', 'prompts', 'resources', 'resource', 'other']) }),
        run({ what }) {
          if (what === 'resource') server.resourceUpdated('rules://text')
          else if (what === 'other') server.resourceUpdated('rules://bytes')
          else toggle(server, what)
          return 'changed'
        },
      }),
    },
    resources: {
      text: resource({ uri: 'rules://text', mimeType: 'text/plain', read: () => 'hello' }),
      bytes: resource({
        uri: 'rules://bytes',
        mimeType: 'image/png',
        cache: { ttlMs: 1000, cacheScope: 'private' },
        read: () => new Uint8Array([0, 255, 254]),
      }),
      empty: resource({ uri: 'rules://empty', read: () => '' }),
      gone: resource({ uri: 'rules://gone', read: () => undefined }),
      fails: resource({
        uri: 'rules://fails',
        read: () => {
          throw new Error('secret')
        },
      }),
      guarded: resource({
        uri: 'rules://guarded',
        cache: { ttlMs: 60_000, cacheScope: 'public' },
        async read(ctx) {
          const { action } = await ctx.elicit({ message: 'May I?', schema: z.object({ ok: z.boolean() }) })
          return action
        },
      }),
      item: template({
        uriTemplate: 'rules://items/{name}',
        complete: { name: (value) => Array.from({ length: 150 }, (_, at) => `${value}${at}`) },
        read: ({ name }) => `item ${name}`,
      }),
      note: template({ uriTemplate: 'file:///notes/{name}', read: ({ name }) => `note ${name}` }),
    },
    prompts: {
      show: prompt({
        input: z.object({ topic: z.string().max(20), tone: z.string().optional() }),
        complete: { tone: () => ['warm', 'formal'] },
        run: ({ topic }) => [
          { role: 'user', content: { type: 'text', text: topic } },
          { role: 'user', content: image },
          { role: 'user', content: sound },
          { role: 'assistant', content: embedded },
          { role: 'assistant', content: embeddedBytes },
        ],
      }),
      fails: prompt({
        run: () => {
          throw new Error('secret')
        },
      }),
      guarded: prompt({
        async run(_args, ctx) {
          const { action } = await ctx.elicit({ message: 'May I?', schema: z.object({ ok: z.boolean() }) })
          return action
        },
      }),
    },
  })
  return server
}

/** Adds one more of a kind, and takes it away again. */
function toggle(server: Server, kind: 'tools' | 'prompts' | 'resources'): void {
  if (kind === 'tools') server.add({ tools: { extra: tool({ run: () => 'extra' }) } })
  else if (kind === 'prompts') server.add({ prompts: { extra: prompt({ run: () => 'extra' }) } })
  else server.add({ resources: { extra: resource({ uri: 'rules://extra', read: () => 'extra' }) } })
  server.remove({ [kind]: ['extra'] })
}
