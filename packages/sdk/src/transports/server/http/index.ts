export type { HttpHandler } from './handler.ts'
export { serveHttp } from './handler.ts'
export type { Listener } from './node.ts'
export type { Authenticate, AuthenticatedCaller, HttpCaller, HttpOptions, HttpRefusal } from './options.ts'
