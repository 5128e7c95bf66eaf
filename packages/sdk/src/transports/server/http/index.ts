export type { HttpHandler } from './handler.ts'
export { serveHttp } from './handler.ts'
export type { HttpListener } from './node.ts'
export type { HttpObserver, HttpServerEvent, HttpServerLoad } from './observer.ts'
export type {
  Authenticate,
  AuthenticatedCaller,
  HttpCaller,
  HttpRefusal,
  ServeHttpOptions,
} from './options.ts'
