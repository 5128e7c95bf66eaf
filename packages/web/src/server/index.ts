export type { Blobs, Download, UploadTicket } from './blobs.ts'
export type { UserHost } from './hosts.ts'
export {
  linkToRunning,
  type ServeWebOptions,
  serveWeb,
  type WebServer,
  WebServerRunningError,
} from './serve.ts'
export { type ServeWebUsersOptions, serveWebUsers, type UsersWebServer } from './serve-users.ts'
export type { WebSession } from './session-store.ts'
export type { WebUser } from './users.ts'
