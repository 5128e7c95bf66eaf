export type { Blobs, Download, UploadTicket } from './blobs.ts'
export {
  linkToRunning,
  type ServeWebOptions,
  serveWeb,
  type WebServer,
  WebServerRunningError,
} from './serve.ts'
export type { WebSession } from './session-store.ts'
