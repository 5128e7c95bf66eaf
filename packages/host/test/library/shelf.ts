import { defineServer, prompt, resource, template } from '@jackfield/sdk'
import { serveHttp } from '@jackfield/sdk/http'
import { onTestFinished } from 'vitest'
import { z } from 'zod'
import type { LibraryHost } from '../../src/resources/library.ts'
import type { CatalogPrompt, CatalogResource, CatalogTemplate, HostEvent } from '../../src/types/index.ts'

type Definitions = Omit<Parameters<typeof defineServer>[0], 'name' | 'version'>

/** A server of our own over HTTP, gone with the test. */
export async function shelf(definitions: Definitions) {
  const server = defineServer({ name: 'shelf', version: '1.0.0', ...definitions })
  const listener = await serveHttp(server, { keys: ['k'.repeat(32)] }).listen()
  onTestFinished(() => listener.close())
  return { server, url: listener.url }
}

/** A note whose text a test can change. */
export function note(uri: string, text: () => string, more: object = {}) {
  return resource({ uri, mimeType: 'text/plain', read: () => text(), ...more })
}

export const cities = ['Oslo', 'Odense', 'Bergen']

export const byCity = template({
  uriTemplate: 'weather://{country}/{city}{?unit}',
  complete: {
    city: (value, ctx) =>
      ctx.arguments['country'] === 'dk'
        ? ['Odense'].filter((one) => one.startsWith(value))
        : cities.filter((one) => one.startsWith(value)),
  },
  read: ({ country, city }) => `${city} in ${country}`,
})

export const greet = prompt({
  title: 'Greeting',
  description: 'Greets somebody',
  input: z.object({ name: z.string(), tone: z.string().optional() }),
  run: ({ name, tone = 'warm' }) => [
    { role: 'user', content: { type: 'text', text: `Say something ${tone} to ${name}` } },
    {
      role: 'user',
      content: { type: 'text', text: 'Only for your eyes', annotations: { audience: ['user'] } },
    },
    {
      role: 'assistant',
      content: {
        type: 'resource',
        resource: { uri: 'note://style', mimeType: 'text/plain', text: 'Be brief' },
      },
    },
  ],
})

/** The lists of a host without servers, and what is asked of it. */
export function listed(
  lists: { resources?: CatalogResource[]; templates?: CatalogTemplate[]; prompts?: CatalogPrompt[] },
  answers: Partial<LibraryHost> = {},
): LibraryHost & { listings: number; emit: (event: HostEvent) => void } {
  const listeners: ((event: HostEvent) => void)[] = []
  const refuse = (): never => {
    throw new Error('not part of this test')
  }
  const host = {
    listings: 0,
    emit: (event: HostEvent) => {
      for (const listener of listeners) listener(event)
    },
    connections: new Map(),
    resources: () => {
      host.listings += 1
      return lists.resources ?? []
    },
    templates: () => lists.templates ?? [],
    prompts: () => lists.prompts ?? [],
    on: (listener: (event: HostEvent) => void) => {
      listeners.push(listener)
      return () => {}
    },
    read: refuse,
    prompt: refuse,
    complete: refuse,
    watch: refuse,
    ...answers,
  }
  return host
}

export const res = (server: string, uri: string, more: object = {}): CatalogResource => ({
  server,
  resource: { uri, name: uri.split('/').at(-1) ?? uri, ...more },
})
