import { McpError } from '../jsonrpc/error.ts'
import { isObject } from '../jsonrpc/parse.ts'
import { kindOf } from '../jsonrpc/shown.ts'

/** Refuses what is no server, where one is to be served. @throws TypeError naming the function and what it got */
export function requireServer(server: unknown, where: string): void {
  if (isObject(server) && typeof server['handle'] === 'function' && isObject(server['info'])) return
  throw new TypeError(
    `${where} needs a server as its first argument, made by defineServer, not ${kindOf(server)}`,
  )
}

/** @throws McpError 'INVALID' for what is not the number of a port */
export function requirePort(where: string, port: unknown): void {
  if (typeof port === 'number' && Number.isInteger(port) && port >= 0 && port <= 65_535) return
  const shown = typeof port === 'string' ? `the string "${port}"` : String(port)
  throw new McpError('INVALID', `${where}: "port" must be a whole number from 0 to 65535, not ${shown}`)
}
