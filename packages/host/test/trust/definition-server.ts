import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { programFile } from '../../../../test/setup/program-file.ts'
import type { ServerConfig } from '../../src/types/index.ts'
import { folder } from '../fixtures/hosts.ts'

export interface Definitions {
  instructions?: string
  tools?: object[]
  prompts?: object[]
  resources?: object[]
  templates?: object[]
}

export interface DefinitionServer {
  config: ServerConfig
  /** Replaces the definitions. */
  define(what: Definitions): void
  /** The tools that ran. */
  ran(): string[]
}

/** A server with the given definitions, which can be replaced. */
export function definitionServer(what: Definitions): DefinitionServer {
  const at = folder()
  const file = join(at, 'definitions.json')
  const log = join(at, 'ran.log')
  writeFileSync(log, '')
  const define = (next: Definitions): void => writeFileSync(file, JSON.stringify(next))
  define(what)
  const server = programFile(new URL('../fixtures/definition-server.ts', import.meta.url))
  return {
    config: { command: process.execPath, args: [server], env: { DEFINITIONS: file, LOG: log } },
    define,
    ran: () => readFileSync(log, 'utf8').trim().split('\n').filter(Boolean),
  }
}

export const reload = { name: 'reload', description: 'Tells of changes', inputSchema: { type: 'object' } }

/** Definitions with every text that a server can send. */
export const shop = {
  instructions: 'Look before you buy.',
  tools: [
    {
      name: 'buy',
      title: 'Buy',
      description: 'Buys one item of the shop.',
      inputSchema: {
        type: 'object',
        properties: {
          item: { type: 'string', description: 'What to buy' },
          size: { type: 'string', enum: ['small', 'large'] },
        },
        $defs: { colour: { type: 'string', description: 'Any colour' } },
        required: ['item'],
      },
      outputSchema: { type: 'object', properties: { price: { type: 'number' } } },
      annotations: { readOnlyHint: false, destructiveHint: true },
      icons: [{ src: 'https://shop.example/buy.png' }],
      _meta: { ui: { resourceUri: 'ui://shop/buy', csp: { connectDomains: [] } } },
    },
    { name: 'look', description: 'Shows all items of the shop.', inputSchema: { type: 'object' } },
    reload,
  ],
  prompts: [
    {
      name: 'choose',
      description: 'Helps to choose an item.',
      arguments: [{ name: 'taste', description: 'What you like', required: true }],
    },
    { name: 'thank', description: 'Thanks the shop.' },
  ],
  resources: [
    { uri: 'shop://open', name: 'open', description: 'When the shop is open' },
    { uri: 'shop://list', name: 'list', description: 'All items' },
  ],
  templates: [
    { uriTemplate: 'shop://item/{name}', name: 'item', description: 'One item' },
    { uriTemplate: 'shop://bill/{number}', name: 'bill', description: 'One bill' },
  ],
}

/** A deep copy with one change. */
export function changed(change: (copy: typeof shop) => void): typeof shop {
  const copy = structuredClone(shop)
  change(copy)
  return copy
}
