import { isObject } from '../jsonrpc/parse.ts'

/** Refuses what is no server, where one is to be served. @throws TypeError naming the function and what it got */
export function requireServer(server: unknown, where: string): void {
  if (isObject(server) && typeof server['handle'] === 'function' && isObject(server['info'])) return
  throw new TypeError(
    `${where} needs a server as its first argument, made by defineServer, not ${server === undefined ? 'undefined' : server === null ? 'null' : `a ${typeof server}`}`,
  )
}
