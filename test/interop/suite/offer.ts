import type { ProtocolVersion } from '@jackfield/sdk'
import type { Json, ListMethod } from './test-client.ts'

/** A tool and what to call it with. */
export interface Call {
  tool: string
  args?: Json
}

/** How a server refuses a call: with a JSON-RPC error, or with an error result. */
export type Refusal = { as: 'error'; code?: number } | { as: 'result' }

/**
 * The features of a server under test. What it lacks is left out, and has no cases.
 * Every member has the name to use and the expected response.
 */
export interface Offer {
  /** The server's name, if it sends one. */
  name?: string
  /** Part of its instructions. */
  instructions?: string
  capabilities: readonly string[]
  tools: readonly string[]
  /** Whether the list of tools is exactly `tools`. */
  onlyTheseTools?: boolean
  ping?: true
  /** One case for each: a call and the content blocks it answers with. */
  contents: readonly { kind: string; since?: ProtocolVersion; call: Call; content: readonly object[] }[]
  echo?: { tool: string; args(text: string): Json; reply(text: string): string; maxChars?: number }
  /** A tool that answers with its argument `value` as JSON text. */
  json?: { tool: string }
  described?: { tool: string; title?: string; description: string; annotations?: Json; required?: string[] }
  /** `inText`: the text of the result is the same value. */
  structured?: { call: Call; value: Json; schema: Json; inText: boolean }
  fails?: { call: Call; text: string }
  /** A handler that throws: what the caller may receive at most. */
  throws?: { call: Call; refusal: Refusal }
  unknownTool?: Refusal
  badArguments?: { calls: readonly Call[]; refusal: Refusal }
  /** A tool that answers with the `_meta` it was called with. */
  meta?: { call: Call; sends?: Json }
  progress?: {
    tool: string
    args(steps: number, tag: string): Json
    message?(tag: string, step: number): string
  }
  /** Log messages; `filters`: whether the level that a client sets has an effect. */
  log?: {
    call: Call
    entries: readonly { level: string; data: unknown; logger?: string }[]
    filters: boolean
  }
  /** A tool that waits until it is stopped, and one that returns whether it was. */
  wait?: { tool: string; stateTool: string; stops: boolean }
  /** A tool that answers with `text` after `ms`. */
  slow?: { tool: string }
  /** A tool whose argument `region` is mirrored into a header where the transport has any. */
  mirrored?: { tool: string; reply(region: string): string }
  resources?: {
    uris: readonly string[]
    /** One case for each. */
    reads: readonly { kind: string; uri: string; contents: readonly object[] }[]
    missing?: { uri: string; codes: readonly number[] }
    shown?: { uri: string; as: Json }
  }
  templates?: {
    uriTemplate: string
    reads: readonly { kind: string; uri: string; contents: readonly object[] }[]
  }
  subscribe?: { uri: string; update: Call }
  prompts?: {
    names: readonly string[]
    /** One case for each. */
    gets: readonly {
      kind: string
      name: string
      args?: Record<string, string>
      messages: readonly object[]
    }[]
    arguments?: { name: string; as: readonly object[] }
    unknown?: readonly number[]
    missingArgument?: { name: string; codes: readonly number[] }
  }
  /** One case for each. */
  completions: readonly {
    kind: string
    since?: ProtocolVersion
    ref: { prompt: string } | { template: string }
    argument: { name: string; value: string }
    context?: Record<string, string>
    values: readonly string[]
  }[]
  pages?: { method: ListMethod; refusesBadCursor: boolean }
  changes?: {
    tools?: { call: Call; name: string; undo?: Call }
    prompts?: { call: Call; name: string }
    resources?: { call: Call; uri: string }
  }
  /** A tool that asks for a name and answers with action and content as JSON. */
  form?: {
    call: Call
    accept: Record<string, string>
    shows: readonly object[]
    outcome(action: string): object
  }
  /** A form with every kind of choice. */
  choices?: {
    call: Call
    accept: Record<string, string | number | boolean | string[]>
    properties: object
    outcome: object
  }
  /** A question in the explicit form, with state that goes to the client and back. */
  explicit?: { call: Call; accept: Record<string, string>; text: string }
  /** Several questions, one after the other. */
  twice?: { call: Call }
  /** A person, a model and folders asked in one turn. */
  together?: { call: Call }
  urlElicitation?: { call: Call; url: string; outcome(action: string): object }
  /** A call that is refused until the user completed a URL elicitation. */
  urlElicitationRequired?: { call: Call; url: string }
  urlElicitationComplete?: { call: Call }
  model?: { call: Call; asks: object; outcome(text: string): object }
  modelTools?: { call: Call; tools: readonly string[]; outcome: object }
  /** `follows`: the server requests them when it is notified of a change. `existing`: only existing folders count. */
  folders?: {
    call: Call
    outcome(uris: readonly string[]): object
    follows?: true
    existing?: readonly [string, string]
  }
  /** What a client without the capability gets. */
  cannotAsk?: { call: Call; refusal: Refusal }
  promptAsks?: { name: string; accept: Record<string, string>; outcome: object }
  /** A tool after which the server knows none of its sessions. */
  forgetSessions?: Call
  /** A tool that closes its response stream, so that the response is fetched by resuming. */
  letGo?: { call: Call; text: string }
  /** A tool that ends the server's process. */
  exit?: Call
  /** Revisions this server refuses. */
  refuses: readonly ProtocolVersion[]
}

/** An offer without features, to build on. */
export const nothing: Offer = { capabilities: [], tools: [], contents: [], completions: [], refuses: [] }

/** Members that may be left out. */
type Feature = { [K in keyof Offer]-?: undefined extends Offer[K] ? K : never }[keyof Offer]

const since: [ProtocolVersion, readonly Feature[]][] = [
  ['2025-06-18', ['structured', 'form', 'explicit', 'twice', 'together', 'cannotAsk', 'promptAsks']],
  [
    '2025-11-25',
    ['choices', 'urlElicitation', 'urlElicitationRequired', 'urlElicitationComplete', 'modelTools', 'letGo'],
  ],
]

const until: [ProtocolVersion, readonly Feature[]][] = [
  ['2025-11-25', ['urlElicitationRequired', 'urlElicitationComplete', 'forgetSessions', 'letGo']],
]

/** The part of an offer that a revision supports. */
export function offerAt(offer: Offer, revision: ProtocolVersion): Offer {
  const left: Offer = { ...offer }
  for (const [first, features] of since) if (revision < first) for (const one of features) delete left[one]
  for (const [last, features] of until) if (revision > last) for (const one of features) delete left[one]
  const spoken = ({ since: first }: { since?: ProtocolVersion }): boolean =>
    first === undefined || revision >= first
  return { ...left, contents: offer.contents.filter(spoken), completions: offer.completions.filter(spoken) }
}
