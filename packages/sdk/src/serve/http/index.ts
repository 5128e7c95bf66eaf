export type { HttpHandler } from './handler.ts'
export { serveHttp } from './handler.ts'
export type { Listener } from './listen.ts'
export type { Authenticate, HttpCaller, HttpOptions, HttpRefusal, Identified } from './options.ts'
