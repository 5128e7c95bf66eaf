import type { ProtocolVersion } from '@jackfield/sdk'
import { nullId } from '../tap/check.ts'

/** A deviation of a peer from the specification that no schema detects. */
export interface Habit {
  readonly peer: string
  /** The method it is about. */
  readonly method: string
  /** What it does; the offers in `offers/` make the cases expect it. */
  readonly what: string
}

/** Something a peer sends that the official schema of the revision it agreed to does not allow. */
export interface Deviation {
  readonly peers: readonly string[]
  /** Only at these revisions; all, where left out. */
  readonly revisions?: readonly ProtocolVersion[]
  readonly transports?: readonly ('stdio' | 'http' | 'sse')[]
  /** The pair to which it does not apply. */
  readonly except?: string
  /** The method of the message, or of the request it answers. */
  readonly method: string
  /** The message of the schema check. */
  readonly what: string
}

export const deviations: readonly Deviation[] = [
  {
    peers: ['official server v1', 'official server v2', 'server-everything'],
    revisions: ['2025-11-25'],
    transports: ['http'],
    except: 'without sessions',
    method: 'unasked',
    what: nullId,
  },
]

export const habits: readonly Habit[] = [
  {
    peer: 'official server v1',
    method: 'tools/call',
    what: 'reports an unknown tool with an `isError` result instead of error -32602',
  },
  {
    peer: 'server-everything',
    method: 'tools/call',
    what: 'the same, because it is built on it',
  },
  {
    peer: 'server-filesystem',
    method: 'tools/call',
    what: 'the same, because it is built on it',
  },
  {
    peer: 'official client v2',
    method: 'notifications/progress',
    what: 'drops progress notifications that arrive together with the response',
  },
  {
    peer: 'tmcp',
    method: 'tools/call',
    what: 'reports an unknown tool with an `isError` result, and a handler that threw with an error',
  },
  { peer: 'tmcp', method: 'tools/list', what: 'answers an invalid cursor with an empty page' },
  { peer: 'tmcp', method: 'tools/call', what: 'drops annotations of content' },
  {
    peer: 'tmcp',
    method: 'notifications/cancelled',
    what: 'over stdio stops no handler; in a session over stdio it serves one request after the other',
  },
  {
    peer: 'mcp-lite',
    method: 'initialize',
    what: 'answers a revision it does not know with its oldest, 2025-03-26, not with its newest, 2025-06-18',
  },
  {
    peer: 'mcp-lite',
    method: 'notifications/tools/list_changed',
    what: 'declares it and the same of prompts and resources, but at 2025-03-26 refuses the stream they would come on when the request names that revision',
  },
  { peer: 'mcp-lite', method: 'tools/call', what: 'refuses an unknown tool with error -32601' },
  { peer: 'mcp-lite', method: 'resources/read', what: 'refuses an unknown resource with error -32601' },
  { peer: 'mcp-lite', method: 'elicitation/create', what: 'leaves out the length a field asks for' },
  { peer: 'mcp-lite', method: 'notifications/cancelled', what: 'stops no handler' },
  { peer: 'fastmcp', method: 'logging/setLevel', what: 'sends log messages of every level all the same' },
  { peer: 'fastmcp', method: 'tools/call', what: 'refuses an unknown tool with error -32601' },
  { peer: 'fastmcp', method: 'resources/read', what: 'refuses an unknown resource with error -32601' },
  {
    peer: 'fastmcp',
    method: 'prompts/get',
    what: 'refuses an unknown prompt with error -32601, and a missing argument with -32600',
  },
  { peer: 'fastmcp', method: 'tools/call', what: 'refuses content with annotations' },
]
