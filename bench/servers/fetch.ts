import type { RequestListener } from 'node:http'
import { type FetchLikeMcpHandler, toNodeHandler } from '@modelcontextprotocol/node'
import { listen } from './host.ts'

/** Serves a web-standard handler through the official adapter for node:http. */
export function listenFetch(handler: FetchLikeMcpHandler): void {
  // The adapter's request has optional members without `| undefined`, which a node:http request has.
  listen(toNodeHandler(handler) as RequestListener)
}
